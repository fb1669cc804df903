// Longer than 400 lines because it has each way in which a receiver, its certificate or its name can fail one attempt.
import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { suite, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { makeWebhookSecret, type WebhookKeys } from '../../src/domain/webhook.ts'
import { readWebhookAllow } from '../../src/settings/webhooks.ts'
import { AddressPolicy } from '../../src/webhooks/address-policy.ts'
import { type AttemptResult, Receiver, resolverOf } from '../../src/webhooks/receiver.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { certificateOf, startNameServer, startReceiver } from '../support/receiver.ts'
import { until } from '../support/until.ts'
import { verify } from '../support/webhooks.ts'

const NEVER = new AbortController().signal
const KEYS: WebhookKeys = { secret: makeWebhookSecret(), previous: undefined }
const MESSAGE = { id: 'evt1', type: 'plant.created', body: '{"id":9007199254740993}' }

type Options = { readonly allow?: string; readonly timeout?: number; readonly servers?: readonly string[] }

function receiverOf(url: string, { allow = 'loopback', timeout = 15_000, servers }: Options = {}) {
  const resolver = new Resolver({ timeout: 2000, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  const policy = new AddressPolicy(readWebhookAllow(allow))
  return new Receiver(url, { policy, resolve: resolverOf(resolver), agent: 'Plantstore/test', timeout })
}

const send = (url: string, options?: Options): Promise<AttemptResult> =>
  receiverOf(url, options).send(MESSAGE, KEYS, NEVER)

const CLOSED = 'the receiver closed the connection'

suite('an attempt', () => {
  test('is a signed request that the library of Standard Webhooks verifies', async (t) => {
    const { url, received } = await startReceiver(t)
    const outcome = await send(url)
    assert.equal(outcome.status, 204)
    assert.equal(outcome.failure, undefined)
    const [request] = received
    assert.ok(request)
    verify(request, KEYS.secret)
    assert.throws(() => verify({ ...request, body: `${request.body} ` }, KEYS.secret))
    assert.throws(() => verify(request, makeWebhookSecret()))
    const { headers } = request
    assert.equal(headers['webhook-id'], 'evt1')
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['user-agent'], 'Plantstore/test')
    assert.equal(headers['plantstore-type'], 'plant.created')
    assert.equal(request.body, '{"id":9007199254740993}')
  })

  test('has a signature by both secrets until the end of a rotation', async (t) => {
    const { url, received } = await startReceiver(t)
    const [old, fresh] = [makeWebhookSecret(), makeWebhookSecret()]
    const receiver = receiverOf(url)
    for (const until of [Date.now() + 60_000, Date.now() - 1]) {
      await receiver.send(MESSAGE, { secret: fresh, previous: { secret: old, until } }, NEVER)
    }
    const [during, after] = received
    assert.ok(during && after)
    for (const secret of [old, fresh]) verify(during, secret)
    verify(after, fresh)
    assert.throws(() => verify(after, old))
  })

  test('uses the connection of the one before', async (t) => {
    const receiver = await startReceiver(t)
    const from = receiverOf(receiver.url)
    for (let i = 0; i < 5; i++) assert.equal((await from.send(MESSAGE, KEYS, NEVER)).failure, undefined)
    assert.equal(receiver.connections, 1)
  })

  test('fails by a status that is not 2xx, and shows the first 256 bytes of the answer', async (t) => {
    const { url } = await startReceiver(t, { respond: (response) => response.writeHead(500).end('x'.repeat(1000)) })
    const { status, failure, answer } = await send(url)
    assert.deepEqual([status, failure, answer], [500, 'the status 500', 'x'.repeat(256)])
  })

  test('does not follow a redirect', async (t) => {
    const inner = await startReceiver(t)
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await startReceiver(t, {
        respond: (response) => response.writeHead(status, { Location: inner.url }).end(),
      })
      assert.equal((await send(url)).failure, `the status ${status}`)
    }
    assert.equal(inner.connections, 0)
  })

  test('reads Retry-After as seconds or as a date, from a second up to a day', async (t) => {
    const receiver = await startReceiver(t)
    const retryAfter = async (text: string) => {
      receiver.respond = (response) => response.writeHead(429, { 'Retry-After': text }).end()
      return (await send(receiver.url)).retryAfter
    }
    assert.equal(await retryAfter('7'), 7000)
    assert.equal(await retryAfter('0'), 1000)
    assert.equal(await retryAfter('999999999'), 86_400_000)
    assert.equal(await retryAfter('soon'), undefined)
    assert.equal(await retryAfter('-5'), undefined)
    const date = await retryAfter(new Date(Date.now() + 60_000).toUTCString())
    assert.ok(date !== undefined && date > 50_000 && date <= 60_000, String(date))
  })

  test('ends where the receiver hangs before or after its headers, or drips', async (t) => {
    const hang = await startReceiver(t, { respond: () => {} })
    const late = await startReceiver(t, { respond: (response) => response.writeHead(200).write('{') })
    const drip = await startReceiver(t, {
      respond(response) {
        const timer = setInterval(() => response.write('x'), 10)
        response.on('close', () => clearInterval(timer))
      },
    })
    for (const { url } of [hang, late, drip]) {
      const { status, failure } = await send(url, { timeout: 300 })
      assert.deepEqual([status, failure], [undefined, 'no whole answer within 0.3 s'])
    }
  })

  test('ends where the receiver closes the connection', async (t) => {
    const { url } = await startReceiver(t, { respond: (_response, _received, request) => request.socket.destroy() })
    assert.equal((await send(url)).failure, CLOSED)
    const away = await startReceiver(t)
    await away.stop()
    assert.equal((await send(away.url)).failure, 'nothing answers at this address')
  })

  test('takes a whole answer for what it is, whatever bytes are behind it, and fails by 101 and what is no HTTP', async (t) => {
    let answer = ''
    const { url } = await startReceiver(t, { respond: (_response, _received, { socket }) => socket.end(answer) })
    const OTHER = 'the answer is not HTTP/1.1'
    for (const [given, status, failure] of [
      ['HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 204, undefined],
      ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more', 200, undefined],
      ['HTTP/1.1 500 Fault\r\nContent-Length: 2\r\n\r\nno and more', 500, 'the status 500'],
      ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', undefined, CLOSED],
      ['HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok', undefined, CLOSED],
      ['SSH-2.0-OpenSSH_9.9\r\n', undefined, OTHER],
      ['HTTP/1.1 twohundred\r\n\r\n', undefined, OTHER],
      ['HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n', undefined, OTHER],
      ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', undefined, OTHER],
    ] as const) {
      answer = given
      const outcome = await send(url)
      assert.deepEqual([outcome.status, outcome.failure], [status, failure], given)
    }
  })

  test('reads 64 KiB of an answer of 1 GiB, and counts it by its status', async (t) => {
    let written = 0
    const { url } = await startReceiver(t, {
      async respond(response) {
        response.writeHead(200)
        const part = Buffer.alloc(2 ** 16, 'x')
        const gone = once(response, 'close')
        while (written < 2 ** 30 && !response.destroyed) {
          written += part.length
          if (!response.write(part)) await Promise.race([once(response, 'drain'), gone])
        }
      },
    })
    const { status, failure, answer } = await send(url)
    assert.deepEqual([status, failure, answer], [200, undefined, 'x'.repeat(256)])
    assert.ok(written < 2 ** 26, `${written} bytes were written`)
  })

  test('passes over a 100 Continue that it has not asked for', async (t) => {
    const { url } = await startReceiver(t, {
      respond(response) {
        response.writeContinue()
        response.writeHead(200).end('taken')
      },
    })
    for (let i = 0; i < 2; i++) {
      const { status, failure, answer } = await send(url)
      assert.deepEqual([status, failure, answer], [200, undefined, 'taken'])
    }
  })

  test('ends where the receiver sends answers of 1xx again and again', async (t) => {
    const { url } = await startReceiver(t, {
      respond(response) {
        const flood = () => {
          for (let i = 0; i < 100; i++) response.writeProcessing()
          if (!response.destroyed) setImmediate(flood)
        }
        flood()
      },
    })
    assert.equal((await send(url)).failure, 'too many answers with a status of 1xx')
    const late = await startReceiver(t, {
      respond(response) {
        response.writeProcessing()
        response.writeHead(204).end()
      },
    })
    assert.equal((await send(late.url)).status, 204)
  })

  test('ends with its signal', async (t) => {
    const receiver = await startReceiver(t, { respond: () => {} })
    const ending = new AbortController()
    const sent = receiverOf(receiver.url).send(MESSAGE, KEYS, ending.signal)
    await until(() => receiver.received.length > 0, 'no request came')
    ending.abort(new Error('stopped'))
    assert.equal((await sent).failure, 'stopped')
  })

  test('that ends before its request began sends nothing', async (t) => {
    const receiver = await startReceiver(t)
    const found = Promise.withResolvers<readonly string[]>()
    const policy = new AddressPolicy(readWebhookAllow('loopback'))
    const url = receiver.url.replace('127.0.0.1', 'garden.example')
    const from = new Receiver(url, { policy, resolve: () => found.promise, agent: 'Plantstore/test' })
    t.after(() => from.close())
    const named = (id: string) => ({ ...MESSAGE, id })
    // One ends while the name is looked up, and one while it connects.
    const ending = new AbortController()
    const sent = from.send(named('looks up'), KEYS, ending.signal)
    ending.abort(new Error('stopped'))
    found.resolve(['127.0.0.1'])
    assert.equal((await sent).failure, 'stopped')
    assert.equal((await receiverOf(receiver.url).send(named('other'), KEYS, NEVER)).status, 204)
    assert.equal(receiver.connections, 1, 'no connection is for the one that has ended')
    assert.equal((await from.send(named('whole'), KEYS, NEVER)).status, 204)
    const connecting = new AbortController()
    const answered = Promise.withResolvers<void>()
    receiver.respond = (response) => void answered.promise.then(() => response.writeHead(204).end())
    const first = from.send(named('first'), KEYS, NEVER)
    const second = from.send(named('connects'), KEYS, connecting.signal)
    // The request is dispatched in a later microtask; a connection takes a turn of the event loop.
    for (let i = 0; i < 20; i++) await Promise.resolve()
    connecting.abort(new Error('stopped'))
    assert.equal((await second).failure, 'stopped')
    const last = from.send(named('last'), KEYS, NEVER)
    await until(() => receiver.received.length >= 4, 'the last request does not come')
    answered.resolve()
    await Promise.all([first, last])
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    assert.deepEqual(ids.toSorted(), ['first', 'last', 'other', 'whole'])
  })

  test('ignores the proxies of the environment', async (t) => {
    const [proxy, receiver] = [await startReceiver(t), await startReceiver(t)]
    const before = { ...process.env }
    t.after(() => {
      for (const name of ['NODE_USE_ENV_PROXY', 'HTTP_PROXY', 'http_proxy']) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
    })
    Object.assign(process.env, { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, http_proxy: proxy.url })
    assert.equal((await send(receiver.url)).status, 204)
    assert.equal(proxy.connections, 0)
  })
})

suite('over TLS, an attempt', () => {
  test('verifies the certificate and its name', async (t) => {
    if (!runs('openssl', 'version')) return notTestedHere(t, 'certificates of receivers, because there is no openssl')
    const [own, other] = [certificateOf(t, 'localhost'), certificateOf(t, 'garden.example')]
    const before = getCACertificates('default')
    t.after(() => setDefaultCACertificates(before))
    const right = await startReceiver(t, { tls: own })
    const wrong = await startReceiver(t, { tls: other })
    const urlOf = ({ port }: { port: number }) => `https://localhost:${port}/`
    assert.equal((await send(urlOf(right))).failure, 'the certificate is self-signed')
    setDefaultCACertificates([...before, own.cert, other.cert])
    assert.equal((await send(urlOf(right))).failure, undefined)
    assert.equal((await send(urlOf(wrong))).failure, 'the certificate is for another name')
    assert.equal(wrong.received.length, 0)
    const names: unknown[] = []
    right.respond = (response, _received, { socket }) => {
      names.push('servername' in socket && socket.servername)
      response.writeHead(204).end()
    }
    for (const url of [urlOf(right), `https://localhost.:${right.port}/`]) assert.equal((await send(url)).status, 204)
    assert.deepEqual(names, ['localhost', 'localhost'], 'TLS names the host without the dot of the root')
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
    t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'])
    assert.equal((await send(urlOf(wrong))).failure, 'the certificate is for another name')
  })
})

suite('a name', () => {
  const PUBLIC = '93.184.215.14'

  test('is looked up and checked again at each attempt', async (t) => {
    const receiver = await startReceiver(t)
    const server = await startNameServer(t, (_name, question) => [question === 0 ? PUBLIC : '127.0.0.1'])
    const url = `https://hooks.garden.example:${receiver.port}/`
    const from = receiverOf(url, { allow: 'external', timeout: 1200, servers: [server] })
    const first = await from.send(MESSAGE, KEYS, NEVER)
    assert.doesNotMatch(first.failure ?? '', /--webhook-allow/)
    await until(async () => {
      const { failure } = await from.send(MESSAGE, KEYS, NEVER)
      return failure === 'the URL leads to an address that --webhook-allow does not allow'
    }, 'the second address is not refused')
    assert.equal(receiver.connections, 0)
  })

  test('is refused as a whole when one of its addresses is private', async (t) => {
    const receiver = await startReceiver(t)
    const names: Readonly<Record<string, readonly string[]>> = {
      'both.example': [PUBLIC, '127.0.0.1'],
      'six.example': [PUBLIC, '::1'],
      'mapped.example': ['::ffff:7f00:1'],
    }
    const server = await startNameServer(t, (name) => names[name] ?? [])
    for (const name of Object.keys(names)) {
      const url = `https://${name}:${receiver.port}/`
      const { failure } = await send(url, { allow: 'external', servers: [server] })
      assert.match(String(failure), /--webhook-allow/, name)
      assert.doesNotMatch(String(failure), /127|::1/)
    }
    assert.equal(receiver.connections, 0)
  })

  test('leads to the address that was checked, under the name of the URL', async (t) => {
    const receiver = await startReceiver(t)
    const server = await startNameServer(t, () => ['127.0.0.1'])
    const url = `http://hooks.garden.example:${receiver.port}/a?b=c`
    const outcome = await send(url, { servers: [server] })
    assert.equal(outcome.failure, undefined)
    assert.equal(receiver.received[0]?.headers.host, `hooks.garden.example:${receiver.port}`)
    assert.equal(receiver.received[0]?.path, '/a?b=c')
  })

  test('that gets other addresses leaves the requests under way alone', async (t) => {
    const open: ServerResponse[] = []
    const receiver = await startReceiver(t, { respond: (response) => open.push(response) })
    let isOther = false
    const server = await startNameServer(t, (_name, question) => {
      isOther = question > 0
      return isOther ? ['127.0.0.1', '127.0.0.2'] : ['127.0.0.1']
    })
    const from = receiverOf(`http://hooks.garden.example:${receiver.port}/`, { servers: [server] })
    const first = from.send(MESSAGE, KEYS, NEVER)
    await until(() => open.length === 1, 'no request came')
    const others: Promise<AttemptResult>[] = []
    await until(() => {
      others.push(from.send(MESSAGE, KEYS, NEVER))
      return isOther
    }, 'the name is not looked up again')
    await until(() => open.length === others.length + 1, 'a request is missing')
    for (const response of open) response.writeHead(204).end()
    for (const { failure } of await Promise.all([first, ...others])) assert.equal(failure, undefined)
  })

  test('that gets other addresses after the webhook was stopped harms nothing', async (t) => {
    const receiver = await startReceiver(t)
    const later = Promise.withResolvers<readonly string[]>()
    let lookUps = 0
    const resolve = () => (lookUps++ === 0 ? Promise.resolve(['127.0.0.1']) : later.promise)
    const policy = new AddressPolicy(readWebhookAllow('loopback'))
    const from = new Receiver(`http://hooks.garden.example:${receiver.port}/`, { policy, resolve, agent: 'test' })
    const ending = new AbortController()
    const sent: Promise<AttemptResult>[] = []
    await until(() => {
      sent.push(from.send(MESSAGE, KEYS, ending.signal))
      return lookUps === 2
    }, 'the name is not looked up again')
    ending.abort(new Error('stopped'))
    await Promise.all(sent)
    from.close()
    later.resolve(['127.0.0.1', '127.0.0.2'])
    // A rejection that nobody handles would end the process, and fails the test.
    await turn()
  })

  test('with more than 64 addresses is refused', async (t) => {
    const many = Array.from({ length: 65 }, (_, i) => `127.0.0.${i + 1}`)
    const receiver = await startReceiver(t)
    const server = await startNameServer(t, (name) => (name === 'many.example' ? many : many.slice(1)))
    const sent = (name: string) => send(`http://${name}:${receiver.port}/`, { servers: [server] })
    assert.equal((await sent('many.example')).failure, 'the URL leads to more than 64 addresses')
    assert.equal(receiver.connections, 0)
  })

  test('whose servers say nothing ends the attempt, and delays no other', async (t) => {
    const receiver = await startReceiver(t)
    const server = await startNameServer(t, (name) => (name === 'dead.example' ? undefined : ['127.0.0.1']))
    const options = { servers: [server] }
    const dead = Array.from({ length: 20 }, () => send('http://dead.example/', { ...options, timeout: 3000 }))
    const live = await send(`http://live.example:${receiver.port}/`, options)
    assert.equal(live.failure, undefined)
    for (const { failure } of await Promise.all(dead)) assert.ok(failure !== undefined)
  })

  test('that nobody has ends the attempt', async (t) => {
    const server = await startNameServer(t, () => [])
    assert.equal((await send('https://none.invalid/', { servers: [server] })).failure, 'no host has this name')
  })
})
