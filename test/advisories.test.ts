import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ROOT } from '../scripts/repository.ts'

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
