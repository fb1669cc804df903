import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import pino from 'pino'
import { AppError } from '../../src/domain/errors.ts'
import { RefusalLog } from '../../src/http/answer/request-log.ts'
import { onService } from '../support/service-tests.ts'

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
    const found = refuse(40002, '10.0.0.1').map(({ error, suppressed }) => [error, suppressed])
    assert.deepEqual(found, [[40002, undefined]], 'another error number has a limit of its own')
    clock.now = 1001
    const suppresseds = [...refuse(50304, '10.0.0.1'), ...refuse(50304, '10.0.0.1')].map(({ suppressed }) => suppressed)
    assert.deepEqual(suppresseds, [80, undefined])
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
