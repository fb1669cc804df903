import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { BODY_LIMIT } from '../../src/http/request/exchange.ts'
import { tempFolder } from '../support/files.ts'
import { fullPlants, importRows } from '../support/full-plants.ts'
import { boundOf, MUCH, untilMomentEnds, withMuch } from '../support/long-work.ts'
import { isLinux, notTestedHere } from '../support/not-tested.ts'
import { pluck } from '../support/pluck.ts'
import { startServer, TOKEN } from '../support/process.ts'
import { holds } from '../support/property.ts'
import { answersIn, RawConnection, raw, rawStatuses } from '../support/raw.ts'
import { LIVE, PLANT, post, untilCreatesWait, untilNoConnection, whole } from '../support/requests.ts'
import { SECRET, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { clearTest } from '../support/transport.ts'
import { until } from '../support/until.ts'

const EXPORT = `GET /plants/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`
const CHUNKED = post(`${PLANT.length.toString(16)}\r\n${PLANT}\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked')

suite('the requests of one connection', () => {
  test('are handled one at a time: each begins after the previous answer was passed to the socket', async (t) => {
    const service = await withMuch(t)
    const connection = new RawConnection(service.port, EXPORT.repeat(60))
    connection.socket.pause()
    // A log that is empty holds no moment.
    let id = MUCH
    const begins = async () =>
      (await service.create({ id: id++, name: 'x' })).status === 200 && service.under.keepsMoment()
    await until(begins, 'no export begins')
    // The service has read all requests, which come in one packet, and has had turns to handle them.
    for (let turn = 0; turn < 20; turn++) await service.send('GET', '/health/live')
    assert.ok((await service.under.opened()) < 20, 'each export opens its own reader')
    connection.socket.destroy()
    await untilMomentEnds(service)
    await untilNoConnection(service)
    const left = async () =>
      /operation="exportPlants",status="499"\} (\d+)\n/.exec((await service.send('GET', '/metrics')).body)?.[1]
    await until(async () => (await left()) !== undefined, 'the export is not counted')
    assert.equal(await left(), '1')
  })

  for (const behind of [64, 65, 4000]) {
    const last = behind > 64 ? [429] : []
    onService(`are answered in order, at most 64 behind one in progress, where ${behind} come`, async (service) => {
      await service.create({ id: 0, name: 'so that the token is known' })
      const release = await service.under.lock()
      const connection = new RawConnection(service.port, whole())
      await untilCreatesWait(service, 1)
      // In one write, as TLS passes each on by itself.
      connection.write(
        `${'GET /nowhere HTTP/1.1\r\nHost:a\r\n\r\n'.repeat(behind - 1)}${LIVE}Connection: close\r\n\r\n`,
      )
      await until(async () => (await boundOf(service, 'pipeline-limit')) > 64 * 2048, 'the requests do not wait')
      await release()
      const answers = answersIn(await connection.untilClosed())
      const due = Array.from({ length: 63 }, () => 404)
      assert.deepEqual(pluck(answers, 'status'), [200, ...due, last.length === 0 ? 200 : 404, ...last])
      if (last.length === 0) return
      const refusal = answers.at(-1)
      assert.match(refusal?.body ?? '', /"error":42901,"message":"more than 64 requests wait/)
      assert.deepEqual([refusal?.headers['retry-after'], refusal?.headers.connection], ['1', 'close'])
    })
  }

  onService('are dropped if their client leaves during the first one', async (service, t) => {
    const release = await service.under.lock()
    const creates = Array.from({ length: 60 }, (_, i) => whole().replace('"id":1', `"id":${i % 10}`))
    const connection = new RawConnection(service.port, creates.join(''))
    await untilCreatesWait(service, 1)
    const leaving = performance.now()
    connection.socket.destroy()
    await untilNoConnection(service)
    const took = performance.now() - leaving
    await release()
    await service.create({ id: 100, name: 'x' })
    assert.deepEqual(pluck(await service.plants(), 'id'), [0n, 100n], 'the first create alone was begun')
    t.diagnostic(`seen after ${Math.round(took)} ms`)
  })
})

suite('valid requests before invalid bytes', () => {
  const GOOD: readonly (readonly [bytes: string, status: number])[] = [
    [whole(), 200],
    [CHUNKED, 200],
    [post('{}', 'Content-Length: 2'), 400],
    [`${LIVE}\r\n`, 200],
    [post('', 'Content-Length: 0'), 400],
    [`GET /plants/1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`, 200],
    ['GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n', 404],
    [whole('Expect: 100-continue'), 200],
  ]
  const BAD = [
    ' ',
    '\0',
    'GARBAGE\r\n\r\n',
    PLANT,
    `${LIVE}X : a\r\n\r\n`,
    'GET /health/live HTTP/1.9\r\n\r\n',
    post(PLANT, 'Content-Length: 5', 'Content-Length: 19'),
    post('zz\r\n', 'Transfer-Encoding: chunked'),
    post('1\r\n{}\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'),
  ]

  const LARGE_PLANT = JSON.stringify({ id: 2, name: 'x'.repeat(1000) }).padEnd(BODY_LIMIT, ' ')
  const LARGE = post(LARGE_PLANT, `Content-Length: ${LARGE_PLANT.length}`)

  onService('are answered in order, before the refusal and the end of the connection', async (service) => {
    await service.create(PLANT)
    const one = fc.tuple(
      fc.array(fc.constantFrom(...GOOD), { maxLength: 6 }),
      fc.constantFrom(...BAD),
      fc.array(fc.nat(4000), { maxLength: 4 }),
    )
    const isAnswered = async ([good, bad, cuts]: [typeof GOOD, string, number[]]) => {
      const connection = new RawConnection(service.port)
      connection.socket.setNoDelay(true)
      const bytes = good.map(([text]) => text).join('') + bad
      let from = 0
      for (const to of [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]) {
        connection.write(bytes.slice(from, to))
        from = to
        await sleep(0)
      }
      const answers = answersIn(await connection.untilClosed()).filter(({ status }) => status !== 100)
      assert.deepEqual(pluck(answers, 'status'), [...good.map(([, status]) => status), 400])
      assert.match(answers.at(-1)?.body ?? '', /"error":40004/)
    }
    // Side by side, as the service waits at the end of each connection.
    const several = fc.array(one, { minLength: 30, maxLength: 30 })
    const property = fc.asyncProperty(several, (all) => Promise.all(all.map(isAnswered)).then(() => {}))
    await holds(property, { numRuns: 4 })
  })

  onService('are answered in order behind and between large bodies', async (service) => {
    const many = Array.from({ length: 50 }, (_, i) => `GET /plants/${i % 7} HTTP/1.1\r\nHost: a\r\n\r\n`)
    const last = `${LIVE}Connection: close\r\n\r\n`
    assert.deepEqual(await rawStatuses(service.port, `${LARGE}${many.join('')}${LARGE}${LARGE}${whole()}${last}`), [
      200,
      ...many.map(() => 401),
      200,
      200,
      200,
      200,
    ])
  })

  clearTest('are answered behind a long one, even if their bodies arrive meanwhile', async (t) => {
    const service = await withService(t)
    await service.create({ id: 0, name: 'so that the token is known' })
    const connection = new RawConnection(service.port, LARGE)
    await connection.until('"name":"xxx')
    const release = await service.under.lock()
    connection.write(`${whole()}${LARGE}${LARGE}${LIVE}Connection: close\r\n\r\n`)
    await untilCreatesWait(service, 1)
    // Time for the bodies to arrive.
    await sleep(500)
    await release()
    assert.deepEqual(pluck(answersIn(await connection.untilClosed()), 'status'), [200, 200, 200, 200, 200])
  })

  clearTest('are answered if a body has no length, whatever happened the second before', async (t) => {
    const service = await withService(t)
    for (let i = 0; i < 2; i++) {
      const answers = await raw(service.port, post(PLANT))
      const found = answers.map(({ body }) => /"error":(\d+)/.exec(body)?.[1])
      assert.deepEqual(found, ['40001', '40004'])
    }
  })
})

clearTest('unread answers take bounded memory, however many requests arrive', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the memory of another process, because only Linux tells it')
  const { address } = await startServer(t, tempFolder(t))
  const memory = async (): Promise<number> => {
    const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
    return Number(/process_resident_memory_bytes (\d+)/.exec(await response.text())?.[1])
  }
  await importRows(address, fullPlants(1000))
  const before = await memory()
  const list = `GET /plants?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`
  const static_ = 'GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n'
  const connections = [list.repeat(400), static_.repeat(1300)].map((bytes) => {
    const connection = new RawConnection(Number(new URL(address).port), bytes)
    connection.socket.pause()
    return connection
  })
  await sleep(2000)
  const grown = (await memory()) - before
  for (const { socket } of connections) socket.destroy()
  assert.ok(grown < 100 * 2 ** 20, `${Math.round(grown / 2 ** 20)} MiB`)
})
