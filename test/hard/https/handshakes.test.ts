import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import { connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { suite, type TestContext, test } from 'node:test'
import { connect as connectSecurely, getCACertificates, getCiphers, setDefaultCACertificates } from 'node:tls'
import { makeCertificate } from '../../support/certificates.ts'
import { refusalOfBytes } from '../../support/raw.ts'
import { Scrape } from '../../support/scrape.ts'
import { errorOf, type Service, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { connectTo, useTls } from '../../support/transport.ts'
import { happens, settled, until } from '../../support/until.ts'

await useTls()

/** More than the service has under way at once. */
const FLOOD = 400
const ADDRESSES = 4
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/** The first message of a client. */
async function clientHello(): Promise<Buffer> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connectSecurely({ port, host: '127.0.0.1' })
  client.on('error', () => {})
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [hello] = (await once(socket, 'data')) as [Buffer]
  client.destroy()
  socket.destroy()
  server.close()
  return hello
}

/** Connects without TLS, and sends bytes. */
function sendClearly(service: Service, bytes: string | Buffer, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port: service.port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {}).resume()
  socket.write(bytes)
  return socket
}

/** Sends a request over a new connection. */
function ask(service: Service, localAddress: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port: service.port, path: '/health/live', host: '127.0.0.1', localAddress, agent: false }
    request(options, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

const connections = async (service: Service): Promise<number | undefined> =>
  new Scrape((await service.send('GET', '/metrics')).body).value('plantstore_bound_used', { bound: 'max-connections' })

const NO_HANDSHAKE = 'the handshake does not end'

function closed(socket: Socket): Promise<void> {
  if (socket.closed) return Promise.resolve()
  const close = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return settled(close, 'the connection stays open')
}

test('HTTP without TLS is refused in clear text, also where it ends at once', async (t) => {
  const service = await withService(t, { publicUrl: 'https://plants.example' })
  for (const bytes of [LIVE, 'GET / HTTP/1.1\r\n', '\0', '\x80\x2e\x01\x03\x01']) {
    const socket = connect({ port: service.port, host: '127.0.0.1' })
    socket.end(bytes, 'latin1')
    const answer = await text(socket)
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
    assert.match(answer, /"error":40004,"message":"the request is not encrypted, but this port speaks HTTPS;/)
    assert.doesNotMatch(answer, /strict-transport/i, 'RFC 6797 section 7.2')
  }
  const answer = await service.send('GET', '/health/live')
  assert.equal(answer.headers['strict-transport-security'], 'max-age=15552000')
})

test('without an https --public-url, no answer asks browsers for HTTPS alone', async (t) => {
  for (const publicUrl of [undefined, 'http://plants.example']) {
    const service = await withService(t, { publicUrl })
    assert.equal((await service.send('GET', '/health/live')).headers['strict-transport-security'], undefined)
  }
})

onService('only http/1.1 is agreed on, over TLS 1.2 and 1.3', async (service) => {
  const options = { port: service.port, host: '127.0.0.1', servername: 'localhost', ALPNProtocols: ['h2', 'http/1.1'] }
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = connectSecurely({ ...options, minVersion: version, maxVersion: version })
    await happens(socket, 'secureConnect', NO_HANDSHAKE)
    assert.deepEqual([socket.getProtocol(), socket.alpnProtocol], [version, 'http/1.1'])
    socket.destroy()
  }
  const old = connectSecurely({ ...options, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' })
  await assert.rejects(once(old, 'secureConnect'), /alert protocol version/)
})

test('only authenticated encryption with forward secrecy is agreed on, also after a renewal', async (t) => {
  const agreed = async ({ port }: { readonly port: number }) => {
    const found: string[] = []
    for (const cipher of getCiphers().filter((name) => !name.startsWith('tls_'))) {
      const options = { port, host: '127.0.0.1', servername: 'localhost', maxVersion: 'TLSv1.2' } as const
      const socket = connectSecurely({ ...options, ciphers: `${cipher.toUpperCase()}:@SECLEVEL=0` })
      const isAgreed = once(socket, 'secureConnect').then(
        () => true,
        () => false,
      )
      if (await isAgreed) found.push(socket.getCipher().name)
      socket.destroy()
    }
    return found.toSorted()
  }
  const of = (algorithm: string) =>
    ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((suite) => `ECDHE-${algorithm}-${suite}`)
  const service = await withService(t)
  assert.deepEqual(await agreed(service), of('ECDSA'))
  // One that the client trusts as well, with a key that other ciphers need.
  const { cert, key, authority } = await makeCertificate({ algorithm: 'RSA' })
  setDefaultCACertificates([...getCACertificates('default'), authority])
  service.useCertificate({ cert, key })
  assert.deepEqual(await agreed(service), of('RSA'))
})

suite('a client that leaves during its handshake', () => {
  const LEAVES: Readonly<Record<string, (socket: Socket) => void>> = {
    resets: (socket) => void socket.resetAndDestroy(),
    leaves: (socket) => void socket.destroy(),
    'ends its side': (socket) => void socket.end(),
  }
  for (const [what, leave] of Object.entries(LEAVES)) {
    test(`and ${what} at any byte of its first message harms nobody`, async (t) => {
      const service = await withService(t, { requestTimeout: '3s' })
      const hello = await clientHello()
      for (let at = 1; at <= hello.length; at += at < 12 || at > hello.length - 3 ? 1 : 97) {
        const socket = sendClearly(service, hello.subarray(0, at))
        await once(socket, 'connect')
        leave(socket)
        await closed(socket)
      }
      assert.equal((await service.send('GET', '/health/live')).status, 200)
      await until(async () => (await connections(service)) === 1, 'the service keeps connections of clients that left')
    })
  }

  onService('and resets right after it, before or during a request, harms nobody', async (service) => {
    for (let at = 0; at <= LIVE.length; at += 9) {
      const socket = connectTo(service.port)
      socket.on('error', () => {})
      await happens(socket, 'secureConnect', NO_HANDSHAKE)
      if (at > 0) await new Promise((resolve) => socket.write(LIVE.slice(0, at), resolve))
      socket.resetAndDestroy()
      await closed(socket)
    }
    await until(async () => (await connections(service)) === 1, 'the service keeps connections of clients that left')
  })
})

onService('bytes that are no record end their connection alone, before and after the handshake', async (service) => {
  const hello = await clientHello()
  const damaged = Buffer.from(hello)
  damaged.fill(0xff, 5)
  for (const bytes of [damaged, Buffer.concat([hello, Buffer.alloc(17_000, 1)])]) {
    await closed(sendClearly(service, bytes))
  }
  const plain = connect({ port: service.port, host: '127.0.0.1' })
  const secure = connectSecurely({ socket: plain, servername: 'localhost' })
  secure.on('error', () => {})
  await happens(secure, 'secureConnect', NO_HANDSHAKE)
  plain.write(Buffer.from('1703030020', 'hex'))
  plain.write(Buffer.alloc(32, 7))
  await closed(secure)
  assert.equal((await service.send('GET', '/health/live')).status, 200)
})

test('a handshake ends within the deadline of a head, whatever of it has arrived', async (t) => {
  const service = await withService(t, { requestTimeout: '1500ms' })
  const hello = await clientHello()
  for (const bytes of ['', hello.subarray(0, 1), hello.subarray(0, 40), hello]) {
    const socket = sendClearly(service, bytes)
    await closed(socket)
    assert.ok(socket.bytesRead === 0 || bytes === hello, 'only a whole message has an answer')
  }
})

async function unfinished(t: TestContext, service: Service, bytes: string | Buffer): Promise<Socket[]> {
  const sockets = Array.from({ length: FLOOD }, (_, i) => sendClearly(service, bytes, `127.0.0.${2 + (i % ADDRESSES)}`))
  t.after(() => sockets.forEach((socket) => void socket.destroy()))
  await until(async () => ((await connections(service)) ?? 0) > FLOOD / 2, 'the connections are not counted')
  return sockets
}

suite(`while ${FLOOD} handshakes never finish`, () => {
  const bytes: Readonly<Record<string, (hello: Buffer) => string | Buffer>> = {
    'without a byte': () => '',
    'in the middle of their first message': (hello) => hello.subarray(0, -1),
    'after their first message': (hello) => hello,
  }
  for (const [what, part] of Object.entries(bytes)) {
    test(`${what}, old and new connections of others and of the same address are served`, async (t) => {
      const service = await withService(t, { requestTimeout: '5m' })
      assert.equal((await service.send('GET', '/health/live')).status, 200)
      const sockets = await unfinished(t, service, part(await clientHello()))
      assert.equal((await service.send('GET', '/health/live')).status, 200)
      for (const address of ['127.0.0.1', '127.0.0.99', '127.0.0.2']) assert.equal(await ask(service, address), 200)
      assert.ok(sockets.filter((socket) => !socket.destroyed).length > 0, 'they ended before')
    })
  }

  onService('each counts as a connection of its address', { maxAddressConnections: '5' }, async (service) => {
    const hello = await clientHello()
    const sockets = Array.from({ length: 5 }, () => sendClearly(service, hello, '127.0.0.7'))
    await until(async () => (await connections(service)) === 6, 'the connections are not counted')
    // The oldest one without a request gives way.
    assert.equal(await ask(service, '127.0.0.7'), 200)
    await closed(sockets[0] as Socket)
  })

  onService('the service stops at once', { requestTimeout: '5m' }, async (service, t) => {
    const sockets = [...(await unfinished(t, service, '')), sendClearly(service, await clientHello())]
    await service.stop()
    await Promise.all(sockets.map(closed))
  })
})

onService('a refusal before a request reaches the client over TLS', async (service) => {
  assert.deepEqual(await refusalOfBytes(service.port, 'nonsense\r\n\r\n'), { status: 400, error: 40004 })
  service.state.current = 'closing'
  assert.equal(errorOf(await service.send('GET', '/plants')), 50303)
})
