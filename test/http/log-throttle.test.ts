import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LogThrottle } from '../../src/http/response/log-throttle.ts'
import { withService } from '../support/service.ts'

suite('log lines about refusals', () => {
  test('number at most 20 per second for one error, and the next line counts the suppressed ones', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const throttle = new LogThrottle()
    const admitted = Array.from({ length: 100 }, (_, i) => throttle.admit(50304, `10.0.0.${i}`))
    assert.equal(admitted.filter((told) => told !== undefined).length, 20)
    assert.equal(throttle.admit(40002, '10.0.0.1'), 0, 'another error number has a limit of its own')
    now = 1001
    assert.equal(throttle.admit(50304, '10.0.0.1'), 80)
    assert.equal(throttle.admit(50304, '10.0.0.1'), 0)
  })

  test('number at most five per second for one error and one address', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const throttle = new LogThrottle()
    const flood = (address: (i: number) => string) =>
      Array.from({ length: 1000 }, (_, i) => throttle.admit(40102, address(i))).filter((told) => told !== undefined)
    assert.equal(flood(() => '10.0.0.1').length, 5)
    assert.equal(flood((i) => `2001:db8::${i.toString(16)}`).length, 5, 'an IPv6 /64 network counts as one address')
    assert.equal(throttle.admit(40102, '10.0.0.2'), 995)
    now = 1001
    assert.equal(throttle.admit(40102, '10.0.0.1'), 0)
  })

  test('have a bounded length, whatever the client sends', async (t) => {
    const service = await withService(t, { logLevel: 'debug' })
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
