import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { assertConforms } from '../support/conforms.ts'
import { collectGarbage } from '../support/garbage.ts'
import { pluck } from '../support/pluck.ts'
import { answersIn, assertRefusal, RawConnection, raw, rawStatuses } from '../support/raw.ts'
import { LIVE, PLANT, post, untilNoConnection, whole } from '../support/requests.ts'
import { SECRET, withService } from '../support/service.ts'
import { onClear, onEmpty } from '../support/service-tests.ts'
import { clearTest } from '../support/transport.ts'
import { happens } from '../support/until.ts'

suite('the service supports rarely used HTTP:', () => {
  onClear(
    'HTTP/1.0 without Host, an absolute URL as the target, an ignored upgrade, an unknown expectation',
    async (service) => {
      const heads = [
        'GET /health/live HTTP/1.0\r\n\r\n',
        'GET http://elsewhere/health/live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
        `${LIVE}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
        `${LIVE}Expect: miracles\r\nConnection: close\r\n\r\n`,
      ]
      for (const bytes of heads) {
        const answers = await raw(service.port, bytes)
        assert.deepEqual(pluck(answers, 'status', 'body'), [[200, '{"status":"live"}']])
      }
    },
  )

  onClear('Expect: 100-continue, which gets 100 and then the answer', async (service) => {
    const connection = new RawConnection(service.port)
    connection.write(post('', 'Expect: 100-continue', `Content-Length: ${PLANT.length}`))
    await connection.until('100 Continue\r\n\r\n')
    connection.write(`${PLANT}${LIVE}Connection: close\r\n\r\n`)
    const answers = answersIn(await connection.untilClosed())
    assert.deepEqual(pluck(answers, 'status'), [100, 200, 200])
    assertConforms('createPlant', answers[1] as (typeof answers)[0])
  })

  onClear('Expect: 100-continue with a refused head, which gets no 100, and a closed connection', async (service) => {
    const expecting = post('', 'Expect: 100-continue', `Content-Length: ${2 ** 21}`)
    const refused: readonly [string, number][] = [
      [expecting, 413],
      [expecting.replace('Bearer', 'Basic'), 401],
      [expecting.replace('/json', '/xml').replace(String(2 ** 21), '9'), 415],
    ]
    for (const [bytes, status] of refused) {
      const answers = await raw(service.port, bytes)
      assert.equal(assertRefusal(answers).status, status)
      assertConforms('createPlant', answers[0] as (typeof answers)[0])
    }
  })

  onClear('a body behind an answer that closes the connection, which never resets it', async (service) => {
    const body = 'x'.repeat(2 ** 19)
    const length = `Content-Length: ${body.length}`
    const token = `Authorization: Bearer ${SECRET}`
    const heads: readonly [string, number][] = [
      [post('', length).replace('Bearer', 'Basic'), 401],
      [post('', length), 413],
      [`GET /openapi.json HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n`, 200],
      [`GET /plants/export HTTP/1.1\r\nHost: a\r\n${token}\r\n${length}\r\n\r\n`, 200],
      [`DELETE /plants/1 HTTP/1.1\r\nHost: a\r\n${token}\r\n${length}\r\n\r\n`, 204],
    ]
    for (const closing of ['Connection: close', 'Expect: 100-continue']) {
      for (const [head, status] of heads) {
        const outcome = async (): Promise<readonly [status: number, wasReset: boolean]> => {
          await service.create({ id: 1, name: 'Monstera' })
          const begun = performance.now()
          const connection = new RawConnection(service.port, head.replace('\r\n\r\n', `\r\n${closing}\r\n\r\n`))
          await connection.until('\r\n\r\n')
          connection.write(body)
          const received = (await connection.untilClosed()).toString()
          // The service reads for a second, which a body may miss on a busy machine.
          if (connection.wasReset && performance.now() - begun > 1000) return outcome()
          return [Number(received.slice(9, 12)), connection.wasReset]
        }
        assert.deepEqual(await outcome(), [status, false], closing + head)
      }
    }
  })

  onEmpty('a body in pieces of one byte', async (service) => {
    const connection = new RawConnection(service.port)
    connection.socket.setNoDelay(true)
    for (const byte of whole('Connection: close')) {
      connection.write(byte)
      await sleep(0)
    }
    const answers = answersIn(await connection.untilClosed())
    assert.deepEqual(pluck(answers, 'status'), [200])
    assert.equal((await service.plants()).length, 1)
  })
})

onClear('several requests on one connection are never smuggled in the body of the first', async (service) => {
  const inner = whole().replace('"id":1', '"id":2')
  const outer = post(inner, `Content-Length: ${inner.length}`, 'Connection: close')
  assert.deepEqual(await rawStatuses(service.port, outer), [400])
  assert.deepEqual(await service.plants(), [])
})

onEmpty('an idle connection keeps nothing of its requests in memory', async (service, t) => {
  const requests: WeakRef<object>[] = []
  service.server.on('request', (request: object) => requests.push(new WeakRef(request)))
  const head = `Host: a\r\nAuthorization: Bearer ${SECRET}\r\n`
  const whole = [LIVE, `GET /plants/1 HTTP/1.1\r\n${head}`, `GET /plants?q=x HTTP/1.1\r\n${head}`]
  const bytes = [post(PLANT, `Content-Length: ${PLANT.length}`), ...whole.map((lines) => `${lines}\r\n`)]
  const connections = bytes.map((sent) => new RawConnection(service.port, sent))
  t.after(() => connections.forEach(({ socket }) => void socket.destroy()))
  await Promise.all(connections.map((connection) => connection.until('\r\n\r\n')))
  for (let tries = 0; tries < 100 && requests.some((request) => request.deref() !== undefined); tries++) {
    await sleep(20)
    collectGarbage()
  }
  assert.equal(requests.length, 4)
  assert.equal(requests.filter((request) => request.deref() !== undefined).length, 0)
  assert.ok(connections.every(({ socket }) => !socket.closed))
})

suite('a client that leaves', () => {
  onEmpty('in the middle of a head, a body or an answer does not harm the service', async (service) => {
    const cuts = [
      'GET /he',
      LIVE,
      post('{"id":1,', 'Content-Length: 100'),
      post('5\r\n{"id', 'Transfer-Encoding: chunked'),
    ]
    for (const bytes of [...cuts, whole(), 'GET /docs/operation.js HTTP/1.1\r\nHost: a\r\n\r\n']) {
      for (const leave of ['destroy', 'resetAndDestroy', 'end'] as const) {
        const { socket } = new RawConnection(service.port)
        await happens(socket, 'connect', 'the service accepts no connection')
        socket.write(bytes)
        await sleep(5)
        socket[leave]()
      }
    }
    await untilNoConnection(service)
    assert.equal((await service.create(PLANT)).status, 200)
    assert.equal((await service.plants()).length, 1)
    assert.ok(!service.log.includes('"error":50001'), service.log)
  })
})

const REQUEST = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
const KEEP_ALIVE = '1s'
const HEADERS = 5000

/** Sends a request, and returns the connection once it has the answer. */
async function answered(port: number): Promise<RawConnection> {
  const connection = new RawConnection(port, REQUEST)
  await connection.until('\r\n\r\n')
  return connection
}

suite('an idle connection', { concurrency: true }, () => {
  test('closes after --keep-alive-timeout, and one in use stays open', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE })
    const [idle, used] = await Promise.all([answered(port), answered(port)])
    let isClosed = false
    const closed = idle.untilClosed().finally(() => {
      isClosed = true
    })
    const startedAt = performance.now()
    while (!isClosed) {
      used.write(REQUEST)
      await sleep(100)
    }
    await closed
    // The service waits for a second longer than it promises, so that a request in the last moment is not lost.
    assert.ok(performance.now() - startedAt >= 1900)
    assert.equal(used.socket.readyState, 'open')
    used.socket.destroy()
  })

  clearTest('gets the time in each answer that leaves it open', async (t) => {
    const service = await withService(t, { keepAliveTimeout: '90s' })
    const answer = await service.send('GET', '/health/live')
    assert.equal(answer.headers['keep-alive'], 'timeout=90')
    assert.equal((await service.send('GET', '/nowhere')).headers['keep-alive'], 'timeout=90')
    const closing = new RawConnection(service.port, REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    const received = (await closing.untilClosed()).toString()
    assert.match(received, /^Connection: close\r$/m)
    assert.doesNotMatch(received, /keep-alive/i)
  })

  clearTest('stays open with a timeout of 0, and no answer names one', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: '0ms' })
    const connection = await answered(port)
    await sleep(3000)
    connection.write(REQUEST.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    assert.doesNotMatch((await connection.untilClosed()).toString(), /^Keep-Alive:/im)
    assert.equal(connection.received.split('HTTP/1.1 200').length, 3)
  })
})

suite('a connection that is not idle', { concurrency: true }, () => {
  clearTest('keeps its deadline for a head that has begun to arrive', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: HEADERS })
    const connection = await answered(port)
    connection.write('GET /health/live HTTP/1.1\r\nHo')
    await connection.untilClosed()
    assert.match(connection.received, /"error":40801/)
  })

  clearTest('is not closed while a body arrives, even after the answer to it', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: 1000 })
    const connection = await answered(port)
    connection.write('DELETE /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 35\r\n\r\n')
    for (let i = 0; i < 35; i++) {
      connection.write('x')
      await sleep(100)
    }
    connection.write(REQUEST)
    // Until the second answer to REQUEST.
    await connection.until(/HTTP\/1.1 200.+HTTP\/1.1 404.+HTTP\/1.1 200/s)
    connection.socket.destroy()
  })

  clearTest('closes in the end if it sends line ends instead of a request', async (t) => {
    const { port } = await withService(t, { keepAliveTimeout: KEEP_ALIVE, headersTimeout: 1000 })
    const connection = await answered(port)
    connection.write('\r\n')
    await connection.untilClosed()
  })
})
