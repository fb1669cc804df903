import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { movableTime } from '../support/clock.ts'
import { contract } from '../support/conforms.ts'
import { pluck } from '../support/pluck.ts'
import { raw } from '../support/raw.ts'
import { assertRefused, errorOf, messageOf } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { words } from '../support/words.ts'

const PLANT = { id: 1, name: 'x' }
const FREE = { authorization: null }

suite('health', () => {
  onService('is live and ready, without a token, and never cached', async (service) => {
    for (const status of ['live', 'ready']) {
      const answer = await service.send('GET', `/health/${status}`, FREE)
      assert.deepEqual([answer.status, answer.json], [200, { status }])
      assert.equal(answer.headers['cache-control'], 'no-store')
    }
  })

  onService('costs at most one write per second, however many probes ask', async (service, t) => {
    const { mock } = t.mock.method(service.store, 'checkWritable')
    const startedAt = performance.now()
    for (let round = 0; round < 10; round++) {
      const probes = Array.from({ length: 5 }, () => service.send('GET', '/health/ready', FREE))
      for (const { status } of await Promise.all(probes)) assert.equal(status, 200)
    }
    const seconds = (performance.now() - startedAt) / 1000
    assert.ok(mock.callCount() >= 1, 'it was written')
    assert.ok(mock.callCount() <= 1 + seconds, `${mock.callCount()} writes in ${seconds} s`)
  })

  onService('is live but not ready while the store takes no writes', async (service, t) => {
    const move = movableTime(t)
    assert.equal((await service.send('GET', '/health/ready', FREE)).status, 200)
    await service.under.takeAway()
    // The service reuses the result of a check for a second.
    move(1100)
    const answer = await service.send('GET', '/health/ready', FREE)
    assertRefused(answer, 50301)
    assert.ok(Number(answer.headers['retry-after']) >= 1)
    assert.ok(service.log.includes(String(answer.headers['x-request-id'])), 'the log has the request by its id')
    assert.ok(!answer.body.includes(service.under.place), 'the answer reveals no internals')
    assert.equal((await service.send('GET', '/health/live', FREE)).status, 200)
  })
})

suite('a read', () => {
  onService('with U+0000 in a parameter is refused or finds nothing, as no text of a store has it', async (service) => {
    await service.create({ ...PLANT, tag: 'a' })
    for (const { method, path } of contract.operations) {
      if (method !== 'GET') continue
      const at = path.replace('{id}', '1')
      // The refusal of an unknown parameter names those of the operation.
      const names = / has (?!none)(.*)$/.exec(messageOf(await service.send('GET', `${at}?other`)))?.[1]
      for (const name of names?.split(', ') ?? []) {
        const { status, body } = await service.send('GET', `${at}?${name}=a%00b`)
        assert.ok(status === 400 || (status === 200 && !body.includes('"a"')), `${at} ${name}: ${status} ${body}`)
      }
    }
  })
})

suite('a service that is shutting down', () => {
  onService('is not ready, answers all other requests, and closes each connection', async (service) => {
    service.state.current = 'draining'
    assert.equal(errorOf(await service.send('GET', '/health/ready')), 50303)
    const answer = await service.create(PLANT)
    assert.deepEqual([answer.status, answer.headers.connection], [200, 'close'])
  })

  onService('answers 50303 to every request in the end', async (service) => {
    service.state.current = 'closing'
    for (const { method, path } of contract.operations) {
      const answer = await service.send(method, path.replace('{file}', 'page.js').replace('{id}', '1'))
      assert.deepEqual([answer.status, errorOf(answer), answer.headers.connection], [503, 50303, 'close'], path)
    }
    assert.equal(errorOf(await service.send('GET', '/nowhere')), 50303)
  })
})

onService('an unknown path is 40401, even if it is similar to a known path', async (service) => {
  const paths = words`// /plant /plants/ /Plants /plants/1/ /plants/1/x /plants//1 /tags/ //plants /plants;a=b /docs/../plants`
  const files = words`
    /docs/nothing.js /docs/..%2f..%2fpackage.json /docs/__proto__ /docs/constructor
    /page/nothing.js /page/..%2f..%2fpackage.json /page/__proto__
  `
  for (const path of [...paths, ...files]) assertRefused(await service.send('GET', path, FREE), 40401)
  for (const path of paths) assertRefused(await service.send('OPTIONS', path, FREE), 40401)
})

suite('an unexpected refusal of the store', () => {
  onService('is 50001 without the reason, which is in the log under the id of the request', async (service) => {
    await service.under.refuseName('unwanted')
    const [before, refused, after] = await Promise.all([
      service.create({ id: 1, name: 'x' }),
      service.create({ id: 2, name: 'unwanted' }),
      service.create({ id: 3, name: 'z' }),
    ])
    assert.deepEqual([before?.status, refused?.status, after?.status], [200, 500, 200])
    assertRefused(refused, 50001, 'the store refused the record')
    const line = service.log.split('\n').find((one) => one.includes('a-rule-of-its-own')) ?? assert.fail(service.log)
    const { req, error } = JSON.parse(line) as Record<string, unknown>
    assert.deepEqual([req, error], [refused.headers['x-request-id'], 50001])
    assert.deepEqual(pluck(await service.under.plants(), 'id'), [1n, 3n])
  })

  onService('of one row leaves the other rows of an import alone', async (service) => {
    await service.under.refuseName('unwanted')
    const rows = ['x', 'y', 'unwanted', 'z'].map((name, id) => `${JSON.stringify({ id, name })}\n`)
    const { json } = await service.importFile(rows.join(''))
    const refusedRows = [{ line: 3, error: 50001, message: 'the store refused the record' }]
    assert.deepEqual(json, { dryRun: false, added: 3, updated: 0, unchanged: 0, refused: 1, refusedRows })
    assert.deepEqual(pluck(await service.under.plants(), 'id'), [0n, 1n, 3n])
  })
})

suite('the log', () => {
  onService('has a line about bytes that never became a request, and the metrics count them', async (service) => {
    await raw(service.port, 'hello\r\n\r\n')
    assert.match(service.log, /"address":"127\.0\.0\.1".*"error":40004/)
    const metrics = await service.send('GET', '/metrics')
    assert.ok(metrics.body.includes('plantstore_http_requests_total{operation="none",status="400"} 1'))
  })
})
