import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const RECORDER = fileURLToPath(new URL('support/recorder.ts', import.meta.url))
const RAW = fileURLToPath(new URL('support/raw.ts', import.meta.url))

/** Asks a server for `/health/live` in one way, in a process of its own that records. The server answers with this head. */
async function recorded(way: string, status: number, headers: Record<string, string>): Promise<string> {
  const program = `
    import ${JSON.stringify(RECORDER)}
    import { createServer, get } from 'node:http'
    import { raw } from ${JSON.stringify(RAW)}
    const body = '{"status":"live"}'
    const server = createServer((_request, response) => {
      response.writeHead(${status}, { ...${JSON.stringify(headers)}, 'Content-Length': body.length, Connection: 'close' })
      response.end(body)
    })
    server.listen(0, '127.0.0.1', async () => {
      const { port } = server.address()
      const url = 'http://127.0.0.1:' + port + '/health/live'
      ${way}
      server.close()
    })`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program])
  const [fault] = await Promise.all([text(child.stderr), text(child.stdout)])
  return fault
}

const WAYS: Readonly<Record<string, string>> = {
  'http.request': 'await new Promise((resolve) => get(url, (response) => response.resume().on("end", resolve)))',
  fetch: 'await (await fetch(url)).text()',
  'bytes on a socket': 'await raw(port, "GET /health/live HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")',
}
const RIGHT = {
  'Content-Type': 'application/json',
  'Cache-Control': 'no-store',
  'X-Request-Id': 'a',
  'X-Content-Type-Options': 'nosniff',
}

suite('an answer that the contract does not allow', () => {
  for (const [name, way] of Object.entries(WAYS)) {
    test(`fails the test that sees it by ${name}`, async () => {
      assert.equal(await recorded(way, 200, RIGHT), '')
      assert.match(await recorded(way, 418, RIGHT), /getLiveness 418.*the contract does not declare this status/)
    })
  }

  test('is one with a header that is not declared, missing or wrong, or of another media type', async () => {
    const way = WAYS['bytes on a socket'] ?? assert.fail()
    assert.match(await recorded(way, 200, { ...RIGHT, 'X-New': '1' }), /does not declare these headers[\s\S]*x-new/)
    assert.match(await recorded(way, 200, { ...RIGHT, 'X-Content-Type-Options': 'x' }), /X-Content-Type-Options: x/)
    const { 'Cache-Control': _, ...incomplete } = RIGHT
    assert.match(await recorded(way, 200, incomplete), /the header Cache-Control is missing/)
    assert.match(await recorded(way, 200, { ...RIGHT, 'Content-Type': 'text/html' }), /media type text\/html is not/)
  })

  test('may come from a server that a test makes up', async () => {
    const { 'X-Request-Id': _, ...other } = RIGHT
    for (const way of Object.values(WAYS)) assert.equal(await recorded(way, 418, other), '')
  })
})
