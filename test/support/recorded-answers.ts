// A script for test/tests-themselves.test.ts. For each case of its argument it runs a fake server, sends a request by the
// client of the case, and collects the fault that the recorder finds. It prints a JSON array; an empty text means no
// fault.
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { RawConnection } from './raw.ts'
import { expectService } from './recorder.ts'

export type Way = 'http.request' | 'fetch' | 'bytes on a socket'

export interface Case {
  readonly way: Way
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly isChunked: boolean
  readonly coding: keyof typeof ENCODERS
  /** Whether the recorder is told that a service listens on the port. */
  readonly isExpected: boolean
}

const ENCODERS = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body),
  br: (body: Buffer) => brotliCompressSync(body),
  zstd: (body: Buffer) => zstdCompressSync(body),
}

const ASK: Readonly<Record<Way, (url: URL) => Promise<unknown>>> = {
  'http.request': (url) => new Promise((resolve) => get(url, (response) => response.resume().on('end', resolve))),
  fetch: async (url) => (await fetch(url)).text(),
  'bytes on a socket': async ({ port, pathname }) => {
    const connection = new RawConnection(Number(port), `GET ${pathname} HTTP/1.1\r\nHost: a\r\n\r\n`)
    await connection.untilClosed()
  },
}

let found: string[] = []
process.on('uncaughtException', ({ message }) => found.push(message))
const all: string[] = []
for (const one of JSON.parse(process.argv[2] ?? '') as Case[]) all.push(await faultsOf(one))
console.log(JSON.stringify(all))

async function faultsOf({ way, path, status, headers, body, isChunked, coding, isExpected }: Case): Promise<string> {
  const bytes = ENCODERS[coding](Buffer.from(body))
  const server = createServer((_request, response) => {
    const framing = isChunked ? {} : { 'Content-Length': String(bytes.length) }
    const encoding = coding === 'identity' ? {} : { 'Content-Encoding': coding }
    response.writeHead(status, { ...headers, ...framing, ...encoding, Connection: 'close' })
    response.write(bytes.subarray(0, 5))
    response.end(bytes.subarray(5))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const expectNoLonger = isExpected ? expectService(port) : () => {}
  found = []
  await ASK[way](new URL(path, `http://127.0.0.1:${port}`))
  // The recorder throws in later turns of the event loop.
  await turn()
  await turn()
  expectNoLonger()
  server.close()
  return found.join('\n')
}
