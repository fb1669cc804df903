import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { SCOPES } from '../../src/domain/token.ts'
import { clientOf } from '../client/support.ts'
import { type Answer, assertRefused, errorOf, type Sending, type Service } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { as, KEY, withKey } from '../support/tokens.ts'

const reserve = (service: Service, body: unknown, sending?: Sending): Promise<Answer> =>
  service.sendJson('POST', '/ids', body, sending)

suite('proposed and reserved ids', () => {
  onService('follow the ids in use, and are never reserved twice', async (service) => {
    assert.deepEqual((await service.send('GET', '/ids')).json, { next: 1 })
    await service.create({ id: 41, name: 'x' })
    assert.deepEqual((await service.send('GET', '/ids')).json, { next: 42 })
    assert.deepEqual((await reserve(service, { count: 21 })).json, { first: 42, last: 62 })
    assert.deepEqual((await reserve(service, '{"count":1e0}')).json, { first: 63, last: 63 })
    const answer = await service.send('GET', '/ids')
    assert.deepEqual([answer.json, answer.headers['cache-control']], [{ next: 64 }, 'no-store'])
    assert.equal((await service.create({ id: 42, name: 'with its label' })).status, 200, 'a reserved id can be used')
    const client = clientOf(service)
    assert.equal(await client.proposeId(), 64n)
    assert.deepEqual(await client.reserveIds(2), { first: 64n, last: 65n })
  })

  onService('are the same again for the same key and the same token', async (service) => {
    const { secret } = await service.issueToken(SCOPES)
    const first = await reserve(service, { count: 3 }, withKey(KEY))
    assert.deepEqual(first.json, { first: 1, last: 3 })
    assert.deepEqual((await reserve(service, { count: 3 }, withKey(`"${KEY}"`))).json, first.json)
    assertRefused(await reserve(service, { count: 4 }, withKey(KEY)), 40902, /belongs to a range of 3 ids$/)
    const another = await reserve(service, { count: 3 }, { ...withKey(KEY), ...as(secret) })
    assert.deepEqual(another.json, { first: 4, last: 6 })
  })

  onService('are refused if the body or the key is wrong, and nothing is reserved', async (service) => {
    const cases: readonly (readonly [unknown, number, RegExp])[] = [
      ['', 40001, /empty/],
      ['[]', 40002, /must be an object/],
      [{}, 40002, /^count is required$/],
      ...[0, -1, 1.5, 10_001, '3', null, [3], 1e300].map(
        (count) => [{ count }, 40002, /^count must be an integer from 1 to 10000$/] as const,
      ),
      [{ count: 3, first: 7 }, 40002, /^unknown member first; this operation has count$/],
      [{ from: 7 }, 40002, /^unknown member from; this operation has count; count is required$/],
      ['{"count":3,"count":4}', 40002, /count more than once/],
      [{ count: 3, x: 'x'.repeat(17_000) }, 41301, /larger than 16384 bytes/],
    ]
    for (const [body, error, says] of cases) {
      assertRefused(await reserve(service, body), error, says)
    }
    assert.equal(errorOf(await reserve(service, { count: 1 }, withKey('short'))), 40003)
    assert.equal(errorOf(await service.send('GET', '/ids?count=3')), 40003)
    assert.deepEqual((await service.send('GET', '/ids')).json, { next: 1 })
  })

  onService('are refused if no gap is large enough', async (service) => {
    const last = 2n ** 53n - 1n
    await service.store.ids.addReservation({ first: 1n, last, key: undefined, at: new Date(), actor: 'x' })
    for (const answer of [await service.send('GET', '/ids'), await reserve(service, { count: 1 })]) {
      assertRefused(answer, 40905)
    }
  })
})
