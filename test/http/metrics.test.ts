import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Histogram } from '../../src/base/counts.ts'
import { Metrics } from '../../src/http/metrics/metrics.ts'
import { plantCount } from '../../src/http/metrics/service-metrics.ts'
import { tempFolder } from '../support/files.ts'
import { startServer, TOKEN } from '../support/process.ts'
import { Scrape } from '../support/scrape.ts'

suite('the histogram of response times', () => {
  test('counts each answer in every bucket whose bound is at least its time', async () => {
    const metrics = new Metrics()
    const times = new Histogram([1, 2.5, 5, 10, 25, 50, 100, 250, 1000, 5000])
    metrics.histogram('plantstore_http_request_seconds', 1000, () => [[{ operation: 'x' }, times]])
    for (const milliseconds of [0, 1, 1.01, 2.5, 2.6, 250, 999, 5000, 5001]) times.observe(milliseconds)
    const text = await metrics.text()
    const bucket = (le: string) => new RegExp(`_bucket\\{le="${le}",operation="x"\\} (\\d+)\n`).exec(text)?.[1]
    const bounds = ['0.001', '0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '1', '5', '\\+Inf']
    assert.deepEqual(bounds.map(bucket).map(Number), [2, 4, 5, 5, 5, 5, 5, 6, 7, 8, 9])
    assert.match(text, /_count\{operation="x"\} 9\n/)
    assert.match(text, /_sum\{operation="x"\} 11.25711\n/)
  })
})

suite('the count of plants', () => {
  const samples = async (metrics: Metrics) => /^plantstore_plants (\S+)$/m.exec(await metrics.text())?.[1]

  test('runs in the background, at most once a minute, and continues after the store was out of reach', async (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const counts: PromiseWithResolvers<number>[] = []
    const countPlants = () => {
      const count = Promise.withResolvers<number>()
      counts.push(count)
      return count.promise
    }
    const metrics = new Metrics()
    metrics.value('plantstore_plants', plantCount({ countPlants }))
    const told = async (at: number) => {
      now = at
      await new Promise(setImmediate)
      return [await samples(metrics), counts.length]
    }
    assert.deepEqual(await told(0), ['Nan', 1])
    assert.deepEqual(await told(1e9), ['Nan', 1], 'the first count has not ended')
    now = 2000
    counts[0]?.resolve(7)
    assert.deepEqual(await told(2000), ['7', 1])
    assert.deepEqual(await told(201_999), ['7', 1], 'a count of 2 s is followed by a pause of 200 s')
    assert.deepEqual(await told(202_000), ['7', 2])
    counts[1]?.reject(new Error('out of reach'))
    assert.deepEqual(await told(202_000), ['7', 2])
    assert.deepEqual(await told(261_999), ['7', 2])
    assert.deepEqual(await told(262_000), ['7', 3])
  })
})

test('a clock that steps forward by a century takes no processor time', async (t) => {
  const script = `const { now } = Date
    const start = now()
    let step = 0
    Date.now = () => now() - start + step
    process.once('SIGUSR2', () => { step = 100 * 365 * 86_400_000 })`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const { program, address } = await startServer(t, tempFolder(t), [], { nodeArgs })
  const processorTime = async () => {
    const response = await fetch(`${address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
    return new Scrape(await response.text()).value('process_cpu_seconds_total') ?? assert.fail('no metric')
  }
  const before = await processorTime()
  program.signal('SIGUSR2')
  // The library's timers run ten times a second. A scrape reports no time that it takes itself.
  const until = performance.now() + 1000
  do await processorTime()
  while (performance.now() < until)
  const used = (await processorTime()) - before
  assert.ok(used < 2, `the process used ${used} s of processor time`)
})
