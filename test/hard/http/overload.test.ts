import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type MemoryUse, Overload } from '../../../src/http/admission/turns.ts'
import { errorOf, messageOf, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { until } from '../../support/until.ts'

/** Blocks the event loop for this time, in which it has a processor. */
function work(milliseconds: number): void {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system >= milliseconds * 1000) return
  }
}

/** Blocks the event loop for this time, in which it has no processor, as beside other programs that keep all of them busy. */
const starve = (milliseconds: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)

const turn = () => new Promise((resolve) => setImmediate(resolve))

suite('overload', () => {
  const admits = (overload: Overload): boolean => {
    try {
      overload.refuseExcess(performance.now())
      return true
    } catch {
      return false
    }
  }
  const plenty: MemoryUse = { used_heap_size: 1, heap_size_limit: 100, external_memory: 1 }

  test('refuses the requests of a turn of the event loop that has taken too long, and only those', async (t) => {
    const overload = new Overload({ maxDelay: 100, maxMemory: undefined }, () => plenty)
    t.after(() => overload.close())
    const admitted: boolean[] = []
    for (let i = 0; i < 8; i++) {
      admitted.push(admits(overload))
      work(30)
    }
    assert.deepEqual([admitted[0], admitted.at(-1)], [true, false])
    await turn()
    assert.ok(admits(overload), 'the next turn')
  })

  test('does not refuse the requests of a turn that other programs keep waiting for a processor', async (t) => {
    const overload = new Overload({ maxDelay: 500, maxMemory: undefined }, () => plenty)
    t.after(() => overload.close())
    starve(500)
    for (let i = 0; i < 8; i++) {
      assert.ok(admits(overload), `after ${i} requests`)
      starve(100)
    }
    assert.equal(overload.refused.delay, 0)
  })

  test('does not refuse the first requests after the process was paused', async (t) => {
    const overload = new Overload({ maxDelay: 100, maxMemory: undefined }, () => plenty)
    t.after(() => overload.close())
    work(500)
    assert.ok(admits(overload))
    assert.ok(admits(overload))
  })

  test('refuses requests while the heap or the buffers exceed their memory', async (t) => {
    let use = plenty
    const overload = new Overload({ maxDelay: 600_000, maxMemory: 1000 }, () => use)
    t.after(() => overload.close())
    const becomes = async (isAdmitted: boolean, next: MemoryUse) => {
      use = next
      await until(() => admits(overload) === isAdmitted, `requests are ${isAdmitted ? 'still' : 'not'} refused`)
    }
    await becomes(false, { used_heap_size: 86, heap_size_limit: 100, external_memory: 0 })
    await becomes(true, { used_heap_size: 84, heap_size_limit: 100, external_memory: 0 })
    await becomes(false, { used_heap_size: 84, heap_size_limit: 100, external_memory: 1000 })
    await becomes(true, plenty)
  })

  test('gives 50302 with Retry-After to requests other than health and metrics, and changes nothing', async (t) => {
    const service = await withService(t, { maxDelay: 500 })
    const { getPlant } = service.store
    const sendAll = () => Promise.all(Array.from({ length: 60 }, (_, id) => service.send('GET', `/plants/${id}`)))
    // On open connections, all requests arrive in one turn of the event loop.
    await sendAll()
    service.store.getPlant = (...asked) => {
      work(40)
      return getPlant.apply(service.store, asked)
    }
    const all = sendAll()
    const monitored = ['/health/live', '/health/ready', '/metrics'].map((path) => service.send('GET', path))
    const answers = await all
    const refused = answers.filter(({ status }) => status === 503)
    assert.ok(refused.length > 0 && refused.length < 60, `${refused.length} of 60`)
    for (const answer of refused) {
      assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [50302, '1'])
      assert.match(messageOf(answer), /^too many requests came at once; nothing was done/)
    }
    for (const { status } of answers) assert.ok(status === 404 || status === 503)
    for (const { status } of await Promise.all(monitored)) assert.equal(status, 200)
    const { body } = await service.send('GET', '/metrics')
    assert.match(body, new RegExp(`^plantstore_shed_total\\{reason="delay"\\} ${refused.length}$`, 'm'))
    service.store.getPlant = getPlant
    assert.equal((await service.send('GET', '/plants/1')).status, 404)
  })

  onService('refuses all but health and metrics while memory is short', { maxMemory: 2 ** 20 }, async (service) => {
    const answer = async () => service.create({ id: 1, name: 'a' })
    let refused = await answer()
    while (refused.status === 200) refused = await answer()
    assert.deepEqual([refused.status, errorOf(refused), refused.headers['retry-after']], [503, 50302, '1'])
    assert.equal((await service.send('GET', '/health/live')).status, 200)
    assert.equal((await service.send('GET', '/metrics')).status, 200)
  })
})
