import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, isIPv4 } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { http } from '../../src/base/http.ts'
import type { Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'

/** A request that a receiver of webhooks got. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Respond = (response: ServerResponse, received: Received, request: IncomingMessage) => unknown

export interface TestReceiver {
  readonly port: number
  readonly url: string
  readonly received: Received[]
  /** Connections so far. */
  connections: number
  /** Answers each request; with 204 by default. */
  respond: Respond
  /** Stops to listen, and closes all connections. */
  stop(): Promise<void>
  /** Listens on the same port again. */
  restart(): Promise<void>
}

export const withStatus =
  (status: number): Respond =>
  (response) =>
    response.writeHead(status).end()
export const OK = withStatus(204)

/** Starts a receiver of webhooks on a port of its own. */
export async function startReceiver(
  scene: Scene,
  { respond = OK, tls }: { respond?: Respond; tls?: { key: string; cert: string } } = {},
): Promise<TestReceiver> {
  const received: Received[] = []
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {})
    buffer(request).then(
      (body) => {
        const { method = '', url: path = '', headers } = request
        const one = { method, path, headers, body: body.toString() }
        received.push(one)
        receiver.respond(response, one, request)
      },
      () => {},
    )
  }
  const server = tls === undefined ? http.createServer(answer) : createTlsServer(tls, answer)
  server.on('connection', () => receiver.connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: TestReceiver = {
    port,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/plants`,
    received,
    connections: 0,
    respond,
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async restart() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
  scene.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return receiver
}

/** Makes a certificate for a name, which signs itself. */
export function certificateOf(scene: Scene, name: string): { readonly key: string; readonly cert: string } {
  const folder = tempFolder(scene)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert]
  execFileSync('openssl', [...request, ...subject], { stdio: 'pipe' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

const TYPE_A = 1
const TYPE_AAAA = 28

/**
 * Starts a name server (RFC 1035).
 *
 * @param addressesOf the addresses of a name at its n-th question, from 0; undefined: the server says nothing
 * @returns its address for Resolver.setServers
 */
export async function startNameServer(
  scene: Scene,
  addressesOf: (name: string, question: number) => readonly string[] | undefined,
): Promise<string> {
  const socket = createSocket('udp4')
  const asked = new Map<string, number>()
  socket.on('message', (query, { port, address }) => {
    const { name, end } = nameIn(query)
    const type = query.readUInt16BE(end)
    // Both families of one look-up count as one question.
    const key = `${name} ${type}`
    const question = asked.get(key) ?? 0
    asked.set(key, question + 1)
    const addresses = addressesOf(name, question)
    if (addresses === undefined) return
    const wanted = addresses.filter((each) => type === (isIPv4(each) ? TYPE_A : TYPE_AAAA))
    socket.send(answerTo(query, end + 4, type, wanted, addresses.length === 0), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  scene.after(() => void socket.close())
  return `127.0.0.1:${socket.address().port}`
}

function nameIn(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function answerTo(query: Buffer, end: number, type: number, addresses: readonly string[], isUnknown: boolean): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  head.writeUInt16BE(isUnknown ? 0x8183 : 0x8180, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  const records = addresses.map((address) => {
    const data = type === TYPE_A ? Buffer.from(address.split('.').map(Number)) : bytesOf(address)
    const record = Buffer.alloc(12)
    record.writeUInt16BE(0xc00c, 0)
    record.writeUInt16BE(type, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(data.length, 10)
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, ...records])
}

/** The bytes of an IPv6 address that names all its groups after `::`. */
function bytesOf(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)))
  const [first, last] = [groups(head), groups(tail)]
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]))
}
