import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import pino from 'pino'
import { AppError } from '../../src/domain/errors.ts'
import { RefusalLog } from '../../src/http/answer/request-log.ts'
import { pluck } from '../support/pluck.ts'
import { raw } from '../support/raw.ts'
import type { Service } from '../support/service.ts'
import { onEmpty, onService } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

const linesWith = (service: Service, id: unknown): string[] =>
  service.log.split('\n').filter((line) => line.includes(`"req":${JSON.stringify(id)}`))

suite('X-Request-Id', () => {
  onService('is in every answer and in the log, anew for each request', { logLevel: 'debug' }, async (service) => {
    const answers = [
      await service.create({ id: 1, name: 'x' }),
      await service.create('nonsense'),
      await service.send('GET', '/plants/1'),
      await service.send('GET', '/plants/export'),
      await service.send('DELETE', '/plants/1'),
      await service.send('GET', '/nowhere'),
      await service.send('TRACE', '/plants'),
      await service.send('OPTIONS', '/plants'),
      await service.send('GET', '/plants', { authorization: null }),
      await service.send('GET', '/%ff'),
      ...(await raw(service.port, 'nonsense\r\n\r\n')),
      ...(await raw(service.port, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n')),
      ...(await raw(service.port, 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n')),
    ]
    const ids = answers.map(({ headers }) => headers['x-request-id'])
    assert.equal(new Set(ids).size, answers.length, String(ids))
    for (const id of ids) assert.equal(linesWith(service, id).length, 1, String(id))
    for (const { headers } of answers) assert.equal(headers['x-content-type-options'], 'nosniff')
  })

  onEmpty('is that of the request if it is well formed', async (service) => {
    for (const id of [
      ...words`a 7b0c2f6e-9d3e-4f0e-8a43-2f1f5c1f0b6e Root=1-67891233-abc a.b~c:d@e+f=g`,
      'x'.repeat(64),
    ]) {
      const { headers } = await service.send('GET', '/nowhere', { headers: { 'X-Request-Id': id } })
      assert.equal(headers['x-request-id'], id)
      assert.equal(linesWith(service, id).length, 1, id)
    }
  })

  onEmpty('is a new id if that of the request is malformed', async (service) => {
    for (const id of ['', 'x'.repeat(65), 'a b', '\xe4', ...words`a"b a,b <b> a\b a'b a;b {} [2J`]) {
      const { headers } = await service.send('GET', '/nowhere', { headers: { 'X-Request-Id': id } })
      assert.match(String(headers['x-request-id']), /^[0-9a-f]{8}-[0-9a-z]+$/, id)
    }
  })
})

onEmpty('a refusal tells caches not to store it', async (service) => {
  const answers = [
    await service.send('GET', '/nowhere'),
    await service.send('GET', '/plants/1'),
    await service.send('GET', '/plants', { authorization: null }),
    ...(await raw(service.port, 'nonsense\r\n\r\n')),
  ]
  for (const { headers, body } of answers) assert.equal(headers['cache-control'], 'no-store', body)
})

interface Line {
  readonly error: number
  readonly suppressed?: number
}

/** A log of refusals, its lines, and a clock. */
function refusalLog(t: TestContext) {
  const clock = { now: 0 }
  t.mock.method(performance, 'now', () => clock.now)
  const lines: Line[] = []
  const pinoLog = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as Line) })
  const log = new RefusalLog(pinoLog)
  return {
    clock,
    pinoLog,
    /** Refuses once, and returns the lines of it. */
    refuse(error: 40002 | 40102 | 50304, address: string): Line[] {
      log.write(new AppError(error, 'no'), () => ({ address }))
      return lines.splice(0)
    },
  }
}

suite('log lines about refusals', () => {
  test('number at most 20 per second for one error, and the next line counts the suppressed ones', (t) => {
    const { refuse, clock } = refusalLog(t)
    const lines = Array.from({ length: 100 }, (_, i) => refuse(50304, `10.0.0.${i}`)).flat()
    assert.equal(lines.length, 20)
    // Another error number has a limit of its own.
    assert.deepEqual(pluck(refuse(40002, '10.0.0.1'), 'error', 'suppressed'), [[40002, undefined]])
    clock.now = 1001
    assert.deepEqual(pluck([...refuse(50304, '10.0.0.1'), ...refuse(50304, '10.0.0.1')], 'suppressed'), [80, undefined])
  })

  test('number at most five per second for one error and one address', (t) => {
    const { refuse, clock } = refusalLog(t)
    const flood = (address: (i: number) => string) =>
      Array.from({ length: 1000 }, (_, i) => refuse(40102, address(i))).flat()
    assert.equal(flood(() => '10.0.0.1').length, 5)
    assert.equal(flood((i) => `2001:db8::${i.toString(16)}`).length, 5, 'an IPv6 /64 network counts as one address')
    assert.equal(refuse(40102, '10.0.0.2')[0]?.suppressed, 995)
    clock.now = 1001
    assert.equal(refuse(40102, '10.0.0.1')[0]?.suppressed, undefined)
  })

  test('have no bound of their number at the level debug', (t) => {
    const { refuse, pinoLog } = refusalLog(t)
    pinoLog.level = 'debug'
    assert.equal(Array.from({ length: 100 }, () => refuse(40002, '10.0.0.1')).flat().length, 100)
  })

  onService('have a bounded length, whatever the client sends', { logLevel: 'debug' }, async (service) => {
    const long = 'x'.repeat(8000)
    await service.send('GET', `/${long}`)
    await service.send('GET', `/plants?${long}=1&${long.slice(0, 4000)}2=3`)
    await service.send('GET', `/plants/${long}`)
    const lines = service.log.trimEnd().split('\n')
    assert.equal(lines.length, 3)
    for (const line of lines) assert.ok(line.length < 1100, `${line.length} characters`)
    assert.match(lines[0] ?? '', /"path":"\/x{199}…"/)
  })
})
