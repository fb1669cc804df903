import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { TESTER } from '../support/actor.ts'
import { assertConforms, assertError } from '../support/conforms.ts'
import { fullPlants } from '../support/full-plants.ts'
import { holds } from '../support/property.ts'
import { answersIn, assertRefusal, RawConnection, raw, rawStatuses, refusalOfBytes } from '../support/raw.ts'
import { LIVE, PLANT, post, untilCreatesWait, untilNoConnection, whole } from '../support/requests.ts'
import { SECRET } from '../support/service.ts'
import { onClear, onEmpty, onService } from '../support/service-tests.ts'
import { happens, until } from '../support/until.ts'

const INVALID_HTTP = { status: 400, error: 40004 }

suite('bytes that are not a valid HTTP/1.1 request', () => {
  const INVALID: Readonly<Record<string, string>> = {
    'no HTTP at all': 'hello\r\n\r\n',
    'a TLS hello': '\x16\x03\x01\x00\xa5\x01\x00\x00',
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'an unknown version': 'GET /health/live HTTP/1.9\r\nHost: a\r\n\r\n',
    'version 2.0': 'GET /health/live HTTP/2.0\r\nHost: a\r\nConnection: close\r\n\r\n',
    'version 0.9': 'GET /health/live HTTP/0.9\r\nHost: a\r\n\r\n',
    'a space in the path': 'GET /health/ live HTTP/1.1\r\nHost: a\r\n\r\n',
    'a header without colon': `${LIVE}nonsense\r\n\r\n`,
    'a space before the colon': `${LIVE}Content-Length : 0\r\n\r\n`,
    'a header that goes on in the next line': `${LIVE}X: a\r\n b\r\n\r\n`,
    'a NUL in a header': `${LIVE}X: a\0b\r\n\r\n`,
    'no Host': 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n',
    'two Hosts': `${LIVE}Host: b\r\nConnection: close\r\n\r\n`,
    'Content-Length and Transfer-Encoding': post(`0\r\n\r\n`, 'Content-Length: 5', 'Transfer-Encoding: chunked'),
    'Transfer-Encoding and Content-Length': post(`0\r\n\r\n`, 'Transfer-Encoding: chunked', 'Content-Length: 5'),
    'two lengths': post(PLANT, 'Content-Length: 5', 'Content-Length: 19'),
    'a length that is a list': post(PLANT, 'Content-Length: 19, 19'),
    'a length that is negative': post(PLANT, 'Content-Length: -1'),
    'a length that is no number': post(PLANT, 'Content-Length: 0x13'),
    'chunked twice': post('0\r\n\r\n', 'Transfer-Encoding: chunked, chunked'),
    'an unknown transfer coding last': post('0\r\n\r\n', 'Transfer-Encoding: chunked, identity'),
    'a chunk whose size is no number': post('zz\r\n', 'Transfer-Encoding: chunked'),
    'a chunk that is longer than its size': post('1\r\n{}\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'),
  }

  onClear('get 40004 with a sentence about the fault', async (service) => {
    const sentences = new Set<string>()
    for (const [what, bytes] of Object.entries(INVALID)) {
      const answers = await raw(service.port, bytes)
      assert.deepEqual(assertRefusal(answers), INVALID_HTTP, what)
      const { message } = JSON.parse(answers[0]?.body ?? '') as { message: string }
      assert.doesNotMatch(message, /cannot be read/, what)
      sentences.add(message)
    }
    assert.ok(sentences.size >= 12, [...sentences].join('\n'))
    assert.deepEqual(await service.plants(), [])
  })

  onClear('get 40004 on every path for an invalid Host or an unknown transfer coding', async (service) => {
    const line = 'GET /health/live HTTP/1.1\r\nConnection: close\r\n'
    for (const host of ['a b', 'a/b', 'u@a', 'a:b', '[::1', 'a?b', 'a#b', '"a"', 'a\\b', '%zz', 'a:80:80', '<a>']) {
      assert.deepEqual(await refusalOfBytes(service.port, `${line}Host: ${host}\r\n\r\n`), INVALID_HTTP, host)
    }
    for (const host of ['', 'a', 'a.example:8080', '127.0.0.1:', '[::1]:80', 'b%C3%BC', 'a_b']) {
      const [answer] = await raw(service.port, `${line}Host: ${host}\r\n\r\n`)
      assert.equal(answer?.status, 200, host)
    }
    for (const coding of ['gzip, chunked', 'chunked;q=1, chunked', 'x-unknown, chunked']) {
      for (const path of ['/plants', '/health/live', '/nowhere']) {
        const bytes = `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`
        assert.deepEqual(await refusalOfBytes(service.port, bytes), INVALID_HTTP, `${coding} ${path}`)
      }
    }
  })

  onClear(
    'get 40004 for Transfer-Encoding in HTTP/1.0, and nothing behind such a request is a request',
    async (service) => {
      for (const fields of [[], ['Connection: keep-alive'], ['Content-Length: 5']]) {
        const chunked = post('0\r\n\r\n', 'Transfer-Encoding: chunked', ...fields).replace('HTTP/1.1', 'HTTP/1.0')
        assert.deepEqual(await refusalOfBytes(service.port, chunked + whole()), INVALID_HTTP)
      }
      assert.deepEqual(await service.plants(), [])
    },
  )

  onClear('get 40003 if only the path is invalid, and the service continues', async (service) => {
    for (const path of ['/%ff', '/plants/%', '/docs/%E0%A4%A', '/%']) {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`
      assert.deepEqual(await refusalOfBytes(service.port, bytes), { status: 400, error: 40003 }, path)
    }
    assert.equal((await service.send('GET', '/health/live')).status, 200)
  })

  onEmpty('get an answer while more of them arrive, and the connection closes soon after', async (service, t) => {
    const more = 'x'.repeat(2 ** 20)
    for (const bytes of ['hello\r\n\r\n', `${LIVE}X: `, 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n']) {
      const connection = new RawConnection(service.port, bytes + more)
      assertRefusal(answersIn(await connection.untilClosed()))
      assert.equal(connection.wasReset, false, 'the service must not reset the connection')
    }
    const lingering = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true })
    lingering.on('error', () => {})
    lingering.resume().write('hello\r\n\r\n')
    await happens(lingering, 'end', 'the service does not refuse the bytes')
    t.after(() => lingering.destroy())
    await untilNoConnection(service)
  })
})

suite('for any bytes', () => {
  onClear('every answer is valid HTTP in the form of the contract, and the service continues', async (service) => {
    const valid = Buffer.from(whole() + post(`13\r\n${PLANT}\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'), 'latin1')
    const piece = fc.oneof(
      fc.constantFrom('\r\n', '\n', ':', ' ', '\0', '%', '\xff', 'Expect: 100-continue\r\n', 'Upgrade: x\r\n'),
      fc.string({ unit: 'binary-ascii', maxLength: 5 }),
    )
    const splice = fc.record({ at: fc.nat(valid.length), remove: fc.nat(20), piece })
    await holds(
      fc.asyncProperty(fc.array(splice, { minLength: 1, maxLength: 3 }), async (splices) => {
        const bytes = splices.reduce((text, { at, remove, piece: insert }) => {
          return text.slice(0, at) + insert + text.slice(at + remove)
        }, valid.toString('latin1'))
        const connection = new RawConnection(service.port)
        connection.socket.end(Buffer.from(bytes, 'latin1'))
        for (const { status, body } of answersIn(await connection.untilClosed())) {
          if (status >= 400) assertError(JSON.parse(body), status)
        }
      }),
      { numRuns: 150 },
    )
    assert.equal((await service.send('GET', '/health/ready')).status, 200)
    assert.ok(!service.log.includes('"error":50001'), service.log)
  })
})

suite('limits of time and size below the request', () => {
  const QUICK = { headersTimeout: 300, requestTimeout: '600ms' }

  onService('a head that takes too long is 40801', QUICK, async (service) => {
    for (const connection of [new RawConnection(service.port), new RawConnection(service.port, LIVE)]) {
      assert.deepEqual(assertRefusal(answersIn(await connection.untilClosed())), { status: 408, error: 40801 })
    }
  })

  onClear('a body that takes too long is 40801, and nothing is stored', QUICK, async (service) => {
    const cut = post(PLANT, `Content-Length: ${PLANT.length + 1}`)
    for (const bytes of [cut, post(`13\r\n${PLANT}\r\n`, 'Transfer-Encoding: chunked')]) {
      const answers = await raw(service.port, bytes)
      assert.deepEqual(assertRefusal(answers), { status: 408, error: 40801 })
      assertConforms('createPlant', answers[0] as (typeof answers)[0])
    }
    assert.deepEqual(await service.plants(), [])
  })

  onClear('a head that is too large is 43101', { headerLimit: 2 * 2 ** 10 }, async (service) => {
    const large = 'x'.repeat(2048)
    const heads = [`${LIVE}X: ${large}\r\n\r\n`, `GET /${large} HTTP/1.1\r\nHost: a\r\n\r\n`, whole(`X: ${large}`)]
    for (const bytes of heads) {
      const answers = await raw(service.port, bytes)
      assert.deepEqual(assertRefusal(answers), { status: 431, error: 43101 })
      assertConforms('createPlant', answers[0] as (typeof answers)[0])
    }
    assert.deepEqual(await service.plants(), [])
  })

  onClear('chunk extensions that are too large are 41301', async (service) => {
    const bytes = post(`1;${'x'.repeat(20_000)}\r\n{\r\n`, 'Transfer-Encoding: chunked')
    assert.deepEqual(await refusalOfBytes(service.port, bytes), { status: 413, error: 41301 })
  })
})

suite('methods', () => {
  onClear('that are unknown, and CONNECT, are 40501 too, after the answers to earlier requests', async (service) => {
    for (const line of ['FOO /plants', 'get /plants', 'GETX /plants', 'X-1 /plants', 'CONNECT a:80']) {
      const bytes = `${line} HTTP/1.1\r\nHost: a\r\n\r\n`
      const alone = await raw(service.port, bytes)
      assert.deepEqual(assertRefusal(alone), { status: 405, error: 40501 }, line)
      assert.equal(alone[0]?.headers['allow'], 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS')
      assert.deepEqual(await rawStatuses(service.port, whole() + bytes), [200, 405])
    }
  })

  onClear('that are unknown are told apart from bytes that are no HTTP, in packets of any size', async (service) => {
    const lines: readonly (readonly [string, number])[] = [
      ['BREW /plants HTTP/1.1\r\nHost: a\r\n\r\n', 40501],
      ['GETS /plants HTTP/1.0\r\n\r\n', 40501],
      ['BREW /plants HTTP/2.0\r\n\r\n', 40004],
      ['BREW  HTTP/1.1\r\n\r\n', 40004],
      ['BREW\r\n\r\n', 40004],
      ['BREW /pl\0nts HTTP/1.1\r\n\r\n', 40004],
      // A request that stays incomplete.
      ['BREW /plants HT', 40004],
    ]
    const cases = lines.flatMap(([bytes, error]) => [0, 1, 2, 4, 7, 13, 20].map((cut) => ({ bytes, error, cut })))
    await Promise.all(
      cases.map(async ({ bytes, error, cut }) => {
        const connection = new RawConnection(service.port)
        connection.socket.setNoDelay(true)
        for (const part of [bytes.slice(0, cut), bytes.slice(cut, cut + 3), bytes.slice(cut + 3)]) {
          connection.write(part)
          await sleep(50)
        }
        const refusal = assertRefusal(answersIn(await connection.untilClosed()))
        // A line in several packets counts as no HTTP, unless the parser stops at the packet with the rest of it.
        const expected = [error, 40004]
        assert.ok(expected.includes(refusal.error), `${refusal.error}: ${JSON.stringify(bytes)}, cut behind ${cut}`)
      }),
    )
  })

  onClear('that are unknown cost no more behind a long body than alone', async (service) => {
    const body = `${'a'.repeat(60_000)}\n`
    const long = `POST /plants HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const before = process.cpuUsage()
    for (let i = 0; i < 5; i++) await raw(service.port, `${long}BREW /plants HTTP/1.1\r\nHost: a\r\n\r\n`)
    const { user } = process.cpuUsage(before)
    assert.ok(user < 2_000_000, `five of them took ${user} µs of processor time`)
  })

  const CONNECT = 'CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n'

  onEmpty('such as CONNECT are refused after the whole answers to earlier requests, however large', async (service) => {
    await service.store.importPlants(fullPlants(1000), 'add', TESTER)
    const list = `GET /plants?limit=1000 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${SECRET}\r\n\r\n`
    const [whole, refusal] = await raw(service.port, list + CONNECT)
    assert.deepEqual([whole?.status, refusal?.status], [200, 405])
    assert.ok((whole?.body.length ?? 0) > 1_200_000)
  })

  onService('such as CONNECT do not hide that the client leaves during an earlier request', async (service) => {
    const metrics = async () => (await service.send('GET', '/metrics')).body
    const release = await service.under.lock()
    const connection = new RawConnection(service.port, whole() + CONNECT + 'x'.repeat(2 ** 18))
    await untilCreatesWait(service, 1)
    connection.socket.resetAndDestroy()
    await untilNoConnection(service)
    await release()
    const ended = /operation="createPlant",status="(\d+)"/
    await until(async () => ended.test(await metrics()), 'the metrics do not count the create')
    assert.equal(ended.exec(await metrics())?.[1], '499')
  })
})
