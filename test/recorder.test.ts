import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Case, Way } from './support/recorded-answers.ts'

const PROGRAM = fileURLToPath(new URL('support/recorded-answers.ts', import.meta.url))
const WAYS: readonly Way[] = ['http.request', 'fetch', 'bytes on a socket']
const HEADERS = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Request-Id': 'a',
  'X-Content-Type-Options': 'nosniff',
}
/** An answer that the contract allows. */
const RIGHT: Omit<Case, 'way'> = {
  path: '/health/live',
  status: 200,
  headers: HEADERS,
  body: '{"status":"live"}',
  isChunked: false,
  coding: 'identity',
  isExpected: false,
}
const WRONG = '{"status":"dead"}'

/** Receives each answer by every kind of client, and compares the fault found with the pattern; undefined: no fault. */
async function expectFaults(...expected: readonly [other: Partial<Case>, fault: RegExp | undefined][]): Promise<void> {
  const cases = expected.flatMap(([other]) => WAYS.map((way): Case => ({ ...RIGHT, way, ...other })))
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, JSON.stringify(cases)])
  const found = JSON.parse(stdout) as string[]
  assert.equal(found.length, cases.length)
  found.forEach((text, i) => {
    const [, fault] = expected[Math.floor(i / WAYS.length)] ?? assert.fail()
    const about = JSON.stringify(cases[i])
    if (fault === undefined) assert.equal(text, '', about)
    else assert.match(text, fault, about)
  })
}

suite('an answer that violates the contract fails its test, whichever client receives it,', () => {
  test('by its status or headers', async () => {
    const { 'Cache-Control': _, ...incomplete } = HEADERS
    await expectFaults(
      [{}, undefined],
      [{ status: 418 }, /getLiveness 418.*the contract lacks this status/],
      [{ headers: { ...HEADERS, 'X-New': '1' } }, /does not declare these headers[\s\S]*x-new/],
      [{ headers: { ...HEADERS, 'X-Content-Type-Options': 'x' } }, /x-content-type-options: x/],
      [{ headers: incomplete }, /the header cache-control is missing/],
      [{ headers: { ...HEADERS, 'Content-Type': 'text/html' } }, /media type text\/html is not/],
    )
  })

  test('by its body, chunked or compressed', async () => {
    const framings = [false, true].flatMap((isChunked) =>
      (['identity', 'gzip', 'br', 'zstd'] as const).map((coding) => ({ isChunked, coding })),
    )
    await expectFaults(
      ...framings.map((framing): [Partial<Case>, undefined] => [framing, undefined]),
      ...framings.map((framing): [Partial<Case>, RegExp] => [
        { ...framing, body: WRONG },
        /getLiveness 200 .*dead.*must be equal to/,
      ]),
    )
  })

  test('by a missing request id, on an unknown path too', async () => {
    const { 'X-Request-Id': _, ...nameless } = HEADERS
    const nowhere = { path: '/nowhere', status: 404, isExpected: true }
    await expectFaults(
      [{ isExpected: true }, undefined],
      [{ isExpected: true, headers: nameless }, /getLiveness 200: the header x-request-id is missing/],
      [{ ...nowhere, headers: nameless }, /GET \/nowhere 404: the header x-request-id is missing/],
      [{ ...nowhere, body: '{"error":40401,"message":"no"}' }, undefined],
      [{ ...nowhere, body: '{"error":40401}' }, /GET \/nowhere/],
    )
  })

  test('but not if the test itself runs the server', async () => {
    const { 'X-Request-Id': _, ...other } = HEADERS
    await expectFaults([{ status: 418, headers: other, body: WRONG }, undefined])
  })
})
