import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../scripts/repository.ts'
import { tempFolder } from './support/files.ts'

test('a checkout makes the bundles of the page where one is missing or a source is newer', (t) => {
  const folder = tempFolder(t)
  for (const part of ['client/src', 'scripts', 'src', 'web/src', 'web/worker', 'package.json', 'package-lock.json']) {
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const made = () => {
    execFileSync(process.execPath, [join(folder, 'scripts/bundles.ts')])
    return statSync(join(folder, 'web/dist/page.js')).ino
  }
  const first = made()
  assert.equal(made(), first, 'nothing changed')

  writeFileSync(join(folder, 'web/src/page/theme.css'), '.changed { color: red }')
  const second = made()
  assert.notEqual(second, first)
  assert.match(readFileSync(join(folder, 'web/dist/page.css'), 'utf8'), /\.changed/)

  rmSync(join(folder, 'client/dist/plantstore-client.js'))
  assert.notEqual(made(), second)
  assert.match(readFileSync(join(folder, 'client/dist/plantstore-client.js'), 'utf8'), /createPlant/)
})

interface Advisory {
  readonly severity: string
  readonly vulnerable_versions: string
}

/** Runs the check against an advisory base with these entries; undefined: one that refuses to answer. */
async function check(
  t: TestContext,
  advisories: Readonly<Record<string, readonly Advisory[]>> | undefined,
): Promise<{ readonly code: number | string; readonly output: string }> {
  const server = createServer((request, response) => {
    const isLookUp = request.method === 'POST' && request.url?.endsWith('/advisories/bulk') === true
    request.resume().on('end', () => {
      response.statusCode = isLookUp && advisories !== undefined ? 200 : 405
      response.end(JSON.stringify(advisories ?? {}))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const env = { ...process.env, npm_config_registry: registry, npm_config_fetch_retries: '0' }
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'scripts/check-advisories.ts')], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, output: stdout + stderr }),
    )
  })
}

const fault = (severity: string): readonly Advisory[] => [
  { ...{ id: 1, url: 'https://example.org/1', title: 'a fault' }, severity, vulnerable_versions: '*' },
]

test('a known fault of a dependency fails the checks, and an advisory base out of reach is named', async (t) => {
  const none = await check(t, {})
  assert.deepEqual([none.code, none.output], [0, 'no dependency has a known fault\n'])
  const grave = await check(t, { pino: fault('moderate'), esbuild: fault('high'), yaml: fault('moderate') })
  assert.equal(grave.code, 1)
  assert.match(grave.output, /pino: moderate/)
  assert.match(grave.output, /esbuild: high/)
  assert.doesNotMatch(grave.output, /yaml/, 'a tool of the development may have a moderate one')
  const away = await check(t, undefined)
  assert.equal(away.code, 0)
  assert.match(away.output, /^NOT CHECKED HERE: known faults of dependencies/)
})
