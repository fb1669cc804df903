import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { contract } from '../support/conforms.ts'
import { errorOf, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'

/** Sends one request to each operation and ignores the answers. */
async function sendAll(service: Service): Promise<void> {
  for (const { method, path } of contract.operations) {
    const target = path.replace('{id}', '1').replace('{file}', 'page.js')
    await service.send(method, `${target}?secret=hunter2`)
  }
}

suite('every operation', () => {
  onService('is counted under its own id', async (service) => {
    await sendAll(service)
    const { body } = await service.send('GET', '/metrics')
    for (const { id } of contract.operations) {
      assert.ok(body.includes(`plantstore_http_requests_total{operation="${id}",status="400"} 1\n`), id)
    }
  })

  onService('is logged under its own id, without the query', { logLevel: 'debug' }, async (service) => {
    await service.send('GET', '/plants?q=hunter2&tag=hunter2')
    await service.send('HEAD', '/plants/1?hunter2hunter2hunter2hunter2hunter2')
    await sendAll(service)
    const lines = service.log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { operation: string; path: string })
    const logged = new Set(lines.map(({ operation }) => operation))
    for (const { id } of contract.operations) assert.ok(logged.has(id), id)
    for (const { path } of lines) assert.ok(!path.includes('?'), path)
    assert.ok(!service.log.includes('hunter2'), service.log)
  })

  test('that takes a token counts towards its rate, and says how many requests are left', async (t) => {
    const protectedOnes = contract.operations.filter(({ scopes }) => scopes !== undefined)
    const service = await withService(t, { rateLimit: String(protectedOnes.length) })
    for (const { id, method, path } of protectedOnes) {
      const { headers, status } = await service.send(method, path.replace('{id}', '1'), {
        headers: { 'Content-Type': 'application/json' },
      })
      assert.notEqual(status, 429, id)
      assert.match(String(headers['ratelimit-policy']), /^"default";q=\d+;w=1$/, id)
    }
    const answers = await Promise.all(
      Array.from({ length: 3 * protectedOnes.length }, () => service.send('GET', '/plants/1')),
    )
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length > 0)
    for (const answer of refused) assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [42901, '1'])
  })
})
