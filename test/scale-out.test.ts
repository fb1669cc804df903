import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { freePort } from './support/free-port.ts'
import { Load } from './support/load.ts'
import { notTestedHere } from './support/not-tested.ts'
import { newDatabase, plantsOf } from './support/postgres.ts'
import { type Served, serveStore } from './support/process.ts'
import { happens, until } from './support/until.ts'

const guide = readFileSync(new URL('../docs/guides/scale-out.md', import.meta.url), 'utf8')
/** The flags of the instances in the guide. */
const FLAGS = /`(--drain-window \w+)`/.exec(guide)?.[1]?.split(' ') ?? assert.fail('the guide has no drain window')

/** The configuration of the guide, with other addresses. */
function guideConfiguration(addresses: Readonly<Record<string, string>>): string {
  let configuration = /```nginx\n(.*?)```/s.exec(guide)?.[1] ?? assert.fail('the guide has no configuration')
  for (const [from, to] of Object.entries(addresses)) {
    assert.ok(configuration.includes(from), from)
    configuration = configuration.replaceAll(from, to)
  }
  return configuration
}

/** Starts nginx with these servers; resolves with its address when it answers. */
async function startNginx(t: TestContext, configuration: string, port: number): Promise<string> {
  const folder = tempFolder(t)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  // By default nginx closes each connection after a thousand requests.
  const whole = `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
    events {} http { access_log off; keepalive_requests 1000000000; ${paths.join(' ')} ${configuration} }`
  writeFileSync(join(folder, 'nginx.conf'), whole)
  const nginx = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')])
  cleanUp(t, async () => {
    if (nginx.exitCode !== null) return
    nginx.kill('SIGTERM')
    await happens(nginx, 'exit', 'nginx does not end')
  })
  const address = `http://127.0.0.1:${port}`
  const isServing = () => {
    if (nginx.exitCode !== null) assert.fail(readFileSync(join(folder, 'error.log'), 'utf8'))
    return fetch(`${address}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    )
  }
  await until(isServing, 'nginx does not serve')
  return address
}

test('a rolling restart of two instances behind nginx, as in the guide, fails no request under load', async (t) => {
  if (spawnSync('nginx', ['-v']).status !== 0) {
    return notTestedHere(t, 'a rolling restart behind nginx, because there is no nginx')
  }
  const url = await newDatabase((work) => cleanUp(t, work))
  const ports = [await freePort(), await freePort()]
  const start = (port: number) => serveStore(t, url, ['--port', String(port), ...FLAGS])
  const instances: Served[] = []
  for (const port of ports) instances.push(await start(port))
  const port = await freePort()
  const addresses = {
    '10.0.0.11:8080': `127.0.0.1:${ports[0]}`,
    '10.0.0.12:8080': `127.0.0.1:${ports[1]}`,
    // Without TLS, so that the load does not spend its time on encryption.
    'listen 443 ssl;': `listen 127.0.0.1:${port};`,
    'ssl_certificate /etc/ssl/plants.example.pem;': '',
    'ssl_certificate_key /etc/ssl/plants.example.key;': '',
  }
  const load = new Load(await startNginx(t, guideConfiguration(addresses), port), { clients: 32 })
  for (let round = 0; round < 2; round++) {
    for (const [i, each] of ports.entries()) {
      await load.reaches(load.acknowledged.size + 300)
      const { program } = instances[i] ?? assert.fail()
      program.signal('SIGTERM')
      assert.equal((await program.outcome).code, 0)
      await load.reaches(load.acknowledged.size + 300)
      instances[i] = await start(each)
    }
  }
  await load.reaches(load.acknowledged.size + 300)
  await load.stop()
  assert.deepEqual([[...load.refused], load.broken], [[], []])
  load.assertAllAmong(new Map((await plantsOf(url)).map(({ id, ...plant }) => [id, plant])))
})
