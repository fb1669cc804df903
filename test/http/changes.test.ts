import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ReadEntry } from '../support/event-stream.ts'
import { nextOf, pagesFrom, patch, put } from '../support/exchanges.ts'
import { pluck } from '../support/pluck.ts'
import { type Answer, assertRefused, messageOf, SECRET, type Service, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { createWebhook } from '../support/webhooks.ts'
import { words } from '../support/words.ts'

const entriesOf = ({ json }: Answer): ReadEntry[] => json as ReadEntry[]

/** Creates, changes and deletes a plant. */
async function changeOnce(service: Service): Promise<void> {
  await service.create({ id: 7, name: 'Ginkgo' })
  await put(service, 7, { name: 'Ginkgo biloba', tag: 'tree' })
  await patch(service, 7, { tag: null })
  await service.send('DELETE', '/plants/7')
}

suite('the changes', () => {
  onService('are an array of entries, oldest first, with the plant before and after', async (service) => {
    const { secret, token } = await service.issueToken(['plants:write'])
    await service.create({ id: 7, name: 'Ginkgo' }, { authorization: `Bearer ${secret}` })
    await put(service, 7, { name: 'Ginkgo biloba', tag: 'tree' })
    await service.send('DELETE', '/plants/7')
    const answer = await service.send('GET', '/changes')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.deepEqual(
      entriesOf(answer).map(({ position: _, time, ...entry }) => {
        assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        return entry
      }),
      [
        { type: 'plant.created', plant: { id: 7, name: 'Ginkgo' }, token: token.id },
        {
          type: 'plant.updated',
          plant: { id: 7, name: 'Ginkgo biloba', tag: 'tree' },
          before: { id: 7, name: 'Ginkgo' },
          token: 'configured',
        },
        { type: 'plant.deleted', before: { id: 7, name: 'Ginkgo biloba', tag: 'tree' }, token: 'configured' },
      ],
    )
  })

  onService('have a link to the next page in every answer, also in the empty one', async (service) => {
    const empty = await service.send('GET', '/changes')
    assert.deepEqual(empty.json, [])
    await changeOnce(service)
    const found: ReadEntry[] = []
    let next = nextOf(empty)
    for (let pages = 0; pages < 10; pages++) {
      const page = await service.send('GET', (next ?? assert.fail('no link')).replace('limit=100', 'limit=1'))
      found.push(...entriesOf(page))
      next = nextOf(page)
    }
    assert.deepEqual(found, entriesOf(await service.send('GET', '/changes')))
    const last = found.at(-1)?.position
    const atEnd = await service.send('GET', '/changes?after=now')
    assert.deepEqual(atEnd.json, [])
    await service.create({ id: 9, name: 'later' })
    for (const link of [next, nextOf(atEnd)]) {
      const { position } = /^\/changes\?limit=\d+&after=(?<position>\w+)$/.exec(link ?? '')?.groups ?? {}
      assert.ok((position ?? '') >= (last ?? ''), `${link} is before ${last}`)
      assert.equal(entriesOf(await service.send('GET', link ?? '')).length, 1)
    }
  })

  onService('begin after an export at its position', async (service) => {
    await service.create({ id: 1, name: 'one' })
    for (const query of ['', '?format=csv&sort=name', '?tag=none', '?q=-']) {
      const { headers } = await service.send('GET', `/plants/export${query}`)
      const position = String(headers['plantstore-position'])
      await service.create({ id: 2, name: 'two' })
      const entries = entriesOf(await service.send('GET', `/changes?after=${position}`))
      assert.deepEqual(pluck(entries, 'plant'), [{ id: 2, name: 'two' }])
      await service.send('DELETE', '/plants/2')
    }
  })

  onService('refuse bad parameters, and change nothing', async (service) => {
    await changeOnce(service)
    const position = entriesOf(await service.send('GET', '/changes'))[0]?.position ?? ''
    const changed = position.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    for (const [query, message] of [
      ['limit=0', /limit/],
      ['limit=-1', /limit/],
      ['limit=x', /limit/],
      ['from=1', /unknown query parameter from/],
      [`after=${position}&after=${position}`, /after may be given only once/],
      [`after=${changed}`, /position/],
      ['after=', /after/],
      ['after=%20', /after/],
      [`after=${'0'.repeat(65)}`, /after/],
      ['after=..', /after/],
    ] as const) {
      assertRefused(await service.send('GET', `/changes?${query}`), 40003, message)
    }
    assertRefused(await service.send('GET', '/changes', { headers: { Accept: 'text/html' } }), 40601)
  })

  test('refuse a position of another store by 410, with the oldest position and a link to it', async (t) => {
    const [service, other] = [await withService(t), await withService(t)]
    for (const each of [service, other]) await changeOnce(each)
    const [foreign] = entriesOf(await other.send('GET', '/changes'))
    const answer = await service.send('GET', `/changes?limit=2&tag=tree&after=${foreign?.position}`)
    assertRefused(answer, 41001)
    assert.equal(answer.headers['link'], '</changes?limit=2&tag=tree>; rel="first"')
    const oldest = /begins after (\S+)$/.exec(messageOf(answer))?.[1] ?? assert.fail(messageOf(answer))
    assert.equal(entriesOf(await service.send('GET', `/changes?after=${oldest}`)).length, 4)
  })

  onService(
    'are switched off by --changes-keep 0s, as history, actions and webhooks are',
    { changesKeep: '0s' },
    async (service) => {
      await changeOnce(service)
      for (const path of words`/changes /plants/7/history /plants/deleted /plants?sort=-changed /actions /actions/a /webhooks`) {
        for (const Accept of ['application/json', '*/*']) {
          assertRefused(await service.send('GET', path, { headers: { Accept } }), 40401)
        }
      }
      assertRefused(await service.send('POST', '/actions/a/undo'), 40401)
      assertRefused(await createWebhook(service, { url: 'https://hooks.garden.example/' }), 40401)
      const named = await service.create({ id: 7, name: 'x' }, { headers: { 'Plantstore-Action': 'a' } })
      assert.deepEqual([named.status, named.headers['plantstore-action']], [200, undefined])
      const exported = await service.send('GET', '/plants/export')
      assert.equal(exported.headers['plantstore-position'], undefined)
    },
  )
})

suite('the history of a plant', () => {
  onService('has its entries, newest first, in pages', async (service) => {
    await service.create({ id: 8, name: 'another' })
    await changeOnce(service)
    const all = entriesOf(await service.send('GET', '/changes')).filter(
      ({ plant, before }) => (plant ?? before)?.id === 7,
    )
    const whole = await service.send('GET', '/plants/7/history')
    assert.deepEqual(whole.json, all.toReversed())
    assert.equal(whole.headers['link'], undefined)
    const first = await service.send('GET', '/plants/7/history?limit=3')
    const rest = await service.send('GET', nextOf(first) ?? assert.fail('no link'))
    assert.deepEqual([...entriesOf(first), ...entriesOf(rest)], whole.json)
    assert.equal(rest.headers['link'], undefined)
    assert.deepEqual((await service.send('GET', '/plants/-9223372036854775808/history')).json, [])
  })

  test('refuses bad ids, cursors and parameters', async (t) => {
    const [service, other] = [await withService(t), await withService(t)]
    for (const each of [service, other]) await changeOnce(each)
    const [foreign] = entriesOf(await other.send('GET', '/changes'))
    for (const path of ['07/history', '7/history?limit=0', '7/history?cursor=x', '7/history?after=x', 'x/history']) {
      assertRefused(await service.send('GET', `/plants/${path}`), 40003)
    }
    assertRefused(await service.send('GET', `/plants/7/history?cursor=${foreign?.position}`), 41001)
    assert.equal((await service.send('POST', '/plants/7/history', { authorization: `Bearer ${SECRET}` })).status, 405)
  })
})

suite('plants by their last change', () => {
  test('are what is deleted now, and what is there, newest first, in pages that say until when the log reaches', async (t) => {
    const service = await withService(t)
    const empty = await service.send('GET', '/plants/deleted')
    assert.deepEqual([empty.json, empty.headers['plantstore-log-since']], [[], undefined])
    for (const id of [1, 2, 3, 4])
      await service.create({ id, name: `Rosa ${id}`, tag: id % 2 === 0 ? 'bed' : 'house/a' })
    await changeOnce(service)
    for (const id of [3, 1]) await service.send('DELETE', `/plants/${id}`)
    await patch(service, 2, { name: 'Aloe' })
    await service.create({ id: 3, name: 'again' })
    const log = entriesOf(await service.send('GET', '/changes'))
    const gone = (id: number) => log.findLast(({ type, before }) => type === 'plant.deleted' && before?.id === id)
    const deleted = await service.send('GET', '/plants/deleted')
    assert.deepEqual(deleted.json, [gone(1), gone(7)])
    assert.equal(deleted.headers['plantstore-log-since'], log[0]?.time)
    for (const [query, ids] of [
      ['q=ginkgo', [7]],
      ['q=-', []],
      ['tag=house/a', [1]],
      ['tagPrefix=ho', [1]],
      ['untagged=true', [7]],
    ] as const) {
      assert.deepEqual((await service.send('GET', `/plants/deleted?${query}`)).json, ids.map(gone), query)
    }
    const listed = (await service.send('GET', '/plants?sort=-changed')).json as { id: number; changed: string }[]
    const timeOf = (id: number) => log.findLast(({ plant }) => plant?.id === id)?.time
    assert.deepEqual(listed, [
      { id: 3, name: 'again', changed: timeOf(3) },
      { id: 2, name: 'Aloe', tag: 'bed', changed: timeOf(2) },
      { id: 4, name: 'Rosa 4', tag: 'bed', changed: timeOf(4) },
    ])
    for (const [path, whole] of [
      ['/plants/deleted?limit=1', deleted.json],
      ['/plants?sort=-changed&limit=2', listed],
    ] as const) {
      const pages = await pagesFrom(service, path)
      const shown = pages.flatMap(({ json }) => json)
      assert.deepEqual(shown, whole)
      assert.equal(pages.length, 2)
      const next = nextOf(pages[0] ?? assert.fail()) ?? assert.fail('no link')
      assertRefused(await service.send('GET', `${next}&tag=bed`), 40003)
    }
    const counted = await service.send('GET', '/plants?sort=-changed&count=true&limit=1&q=r')
    assert.deepEqual([counted.headers['plantstore-total'], (counted.json as object[]).length], ['1', 1])
  })
})
