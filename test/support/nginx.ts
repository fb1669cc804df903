import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cleanUp, type Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { happens, until } from './until.ts'

export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0

export const readGuide = (name: string): string =>
  readFileSync(new URL(`../../docs/guides/${name}.md`, import.meta.url), 'utf8')

/** The configuration for nginx in a guide, with other addresses. */
export function nginxOf(guide: string, addresses: Readonly<Record<string, string>>): string {
  let configuration = /```nginx\n(.*?)```/s.exec(guide)?.[1] ?? assert.fail('the guide has no configuration')
  for (const [from, to] of Object.entries(addresses)) {
    assert.ok(configuration.includes(from), from)
    configuration = configuration.replaceAll(from, to)
  }
  return configuration
}

/**
 * Starts nginx with these servers; resolves with its address when it answers.
 *
 * @param base the path of the service
 */
export async function startNginx(scene: Scene, servers: string, port: number, base = ''): Promise<string> {
  const folder = tempFolder(scene)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  // By default nginx closes each connection after a thousand requests.
  const whole = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {} http { access_log off; keepalive_requests 1000000000; ${paths.join(' ')} ${servers} }`
  writeFileSync(join(folder, 'nginx.conf'), whole)
  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')])
  cleanUp(scene, async () => {
    if (nginx.exitCode !== null) return
    nginx.kill('SIGTERM')
    await happens(nginx, 'exit', 'nginx does not end')
  })
  const address = `http://127.0.0.1:${port}`
  const isServing = () => {
    if (nginx.exitCode !== null) assert.fail(readFileSync(join(folder, 'error.log'), 'utf8'))
    return fetch(`${address}${base}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(isServing, 'nginx does not serve')
  return address
}
