import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { suite, type TestContext, test } from 'node:test'
import { tempFolder } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { startServer, TOKEN } from '../../support/process.ts'
import { PLANT } from '../../support/requests.ts'
import { onService } from '../../support/service-tests.ts'
import { settled } from '../../support/until.ts'

const request = (line: string, fields: readonly string[] = [], body = ''): string =>
  [line, 'Host: a', ...fields, '', body].join('\r\n')

const LIVE = request('GET /health/live HTTP/1.1')
const CONNECT = request('CONNECT a:80 HTTP/1.1')
const LENGTH = `Content-Length: ${PLANT.length}`
const CREATE = [`Authorization: Bearer ${TOKEN}`, 'Content-Type: application/json']
const CHUNKS = `5;x=y\r\n${PLANT.slice(0, 5)}\r\ne\r\n${PLANT.slice(5)}\r\n0\r\nX: y\r\n\r\n`

const REQUESTS: readonly string[] = [
  LIVE,
  request('GET /metrics HTTP/1.1', ['Connection: close']),
  request('GET /health/live HTTP/1.0', ['Connection: keep-alive']),
  request('POST /plants HTTP/1.0', ['Transfer-Encoding: chunked'], CHUNKS),
  request('POST /plants HTTP/1.1', [...CREATE, LENGTH], PLANT),
  request('POST /plants HTTP/1.1', [...CREATE, 'Transfer-Encoding: chunked'], CHUNKS),
  request('POST /plants HTTP/1.1', [...CREATE, LENGTH, 'Expect: 100-continue'], PLANT),
  request('POST /plants HTTP/1.1', [...CREATE, LENGTH, 'Expect: x'], PLANT),
  CONNECT,
  request('CONNECT a:80 HTTP/1.0'),
  request('CONNECT a:80 HTTP/1.1', ['Content-Length: 9'], 'some body'),
  request('CONNECT a:80 HTTP/1.1', ['Transfer-Encoding: chunked'], CHUNKS),
  LIVE + CONNECT + LIVE,
  request('GET /health/ready HTTP/1.1') + CONNECT,
  request('GET /health/live HTTP/1.1', ['Connection: Upgrade', 'Upgrade: websocket']),
  request('POST /plants HTTP/1.1', ['Connection: Upgrade', 'Upgrade: h2c', LENGTH], PLANT),
  request('OPTIONS * HTTP/1.1'),
  request('GET http://a/health/live HTTP/1.1'),
  request('BREW /health/live HTTP/1.1'),
  request('GET /health/ live HTTP/1.1'),
  request('GET /health/live HTTP/1.1', ['no colon']),
  request('GET /health/live HTTP/1.1', ['X: a\0b']),
  request('POST /plants HTTP/1.1', ['Content-Length: 5', 'Transfer-Encoding: chunked'], CHUNKS),
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x00\xa5\x01\x00\x00',
  '\r\n\r\n',
]

/** Connections at once: several lots stay below the most that the port for monitors accepts. */
const LOT = 8

type Leave = (socket: Socket, bytes: string) => void

/** The ways in which a client leaves once the operating system has its bytes. */
const LEAVES: Readonly<Record<string, Leave>> = {
  'resets the connection': (socket, bytes) => socket.write(bytes, 'latin1', () => socket.resetAndDestroy()),
  'sends more, ends, and resets at the answer': (socket, bytes) => {
    socket.once('data', () => socket.resetAndDestroy())
    socket.write(bytes, 'latin1', () => socket.end('more'))
  },
}

/** Starts a service. @returns the addresses of its port for clients and of its port for monitors too */
async function startOnTwoPorts(t: TestContext) {
  const { program, address } = await startServer(t, tempFolder(t), ['--metrics-port', '0'])
  const monitors = /^ {2}Metrics {2}(http:\S+)\/metrics$/m.exec(program.stdout)?.[1] ?? assert.fail(program.stdout)
  return { program, addresses: [address, monitors] }
}

async function leaveAfter(port: number, bytes: string, leave: Leave): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  // The service may reset the connection first.
  socket.on('error', () => {}).resume()
  if (bytes === '') socket.once('connect', () => socket.resetAndDestroy())
  else leave(socket, bytes)
  await settled(closed, 'the connection stays open')
}

suite('a client that leaves after any byte of any request', () => {
  for (const [what, leave] of Object.entries(LEAVES)) {
    test(`and ${what} stops neither port`, async (t) => {
      const { program, addresses } = await startOnTwoPorts(t)
      for (const address of addresses) {
        const port = Number(new URL(address).port)
        const agent = new Agent({ keepAlive: true })
        t.after(() => agent.destroy())
        const cuts = REQUESTS.flatMap((bytes) => Array.from(bytes, (_, at) => bytes.slice(0, at + 1)))
        while (cuts.length > 0) {
          const lot = cuts.splice(0, LOT)
          await Promise.all(lot.map((bytes) => leaveAfter(port, bytes, leave)))
          const { status } = await send('GET', `${address}/health/live`, { agent }).catch(() => ({ status: 0 }))
          assert.equal(status, 200, `after one of ${JSON.stringify(lot, null, 2)}: ${program.stderr}`)
        }
      }
      assert.equal((await program.ends()).stderr, '')
    })
  }
})

onService('a connection that the system cannot hand over is a line of the log, no end of the port', async (service) => {
  service.server.emit('error', Object.assign(new Error('accept ENOBUFS'), { code: 'ENOBUFS' }))
  assert.match(service.log, /"error":50302,.*accept ENOBUFS.*"msg":"failed: a connection could not be accepted"/)
  assert.equal((await service.send('GET', '/health/live')).status, 200)
})
