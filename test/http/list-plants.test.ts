import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TESTER } from '../support/actor.ts'
import { nextOf, plantsIn } from '../support/exchanges.ts'
import { emptyService, errorOf, messageOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'

const GARDEN = [
  { id: 1, name: 'Monstera deliciosa', tag: 'houseplant' },
  { id: 2, name: 'Ficus lyrata', tag: 'houseplant' },
  { id: 3, name: 'Café-Baum', tag: 'crop' },
  { id: 4, name: 'Straße (Sorte)', tag: '' },
  { id: 5, name: 'ficus carica' },
  { id: 6, name: 'Ficus carica', tag: 'House plant' },
  { id: -1, name: '', tag: 'a&b=c+d%' },
]

async function withGarden(): Promise<Service> {
  const service = await emptyService()
  for (const plant of GARDEN) await service.create(plant)
  return service
}

async function ids(service: Service, query: string): Promise<bigint[]> {
  const answer = await service.send('GET', `/plants${query}`)
  assert.equal(answer.status, 200, answer.body)
  assert.equal(nextOf(answer), undefined, query)
  return plantsIn(answer.body).map(({ id }) => id)
}

suite('the list of plants', () => {
  test('is a JSON array of plants, ordered by id', async () => {
    const service = await withGarden()
    const answer = await service.send('GET', '/plants')
    assert.deepEqual(answer.json, [GARDEN.at(-1), ...GARDEN.slice(0, -1)])
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
    for (const plant of plantsIn(answer.body)) {
      const one = await service.send('GET', `/plants/${plant.id}`)
      assert.deepEqual(plantsIn(`[${one.body}]`), [plant])
    }
  })

  onEmpty('is empty if there are no plants', async (service) => {
    for (const query of ['', '?', '?&&', '?sort=-name', '?tag=x', '?q=x', '?limit=1']) {
      const answer = await service.send('GET', `/plants${query}`)
      assert.deepEqual([answer.status, answer.body, answer.headers['link']], [200, '[]', undefined], query)
    }
  })

  test('has the plants without a tag, or whose tag begins in a way, page by page, and so has an export', async () => {
    const service = await withGarden()
    await service.create({ id: 7, name: 'Agave' })
    for (const [query, found] of [
      ['untagged=true', [5n, 7n]],
      ['untagged=true&q=aga', [7n]],
      ['untagged=false', [-1n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]],
      ['tagPrefix=house', [1n, 2n]],
      ['tagPrefix=H', [6n]],
      ['tagPrefix=a%26b=&q=c', [-1n]],
    ] as const) {
      assert.deepEqual(await ids(service, `?${query}`), found)
      const { body } = await service.send('GET', `/plants/export?format=ndjson&${query}`)
      const shown = plantsIn(`[${body.trim().replaceAll('\n', ',')}]`).map(({ id }) => id)
      assert.deepEqual(shown, found)
      if (found.length < 2 || query === 'untagged=false') continue
      const first = await service.send('GET', `/plants?limit=1&${query}`)
      const next = nextOf(first) ?? assert.fail('no further page')
      assert.deepEqual(plantsIn((await service.send('GET', next)).body)[0]?.id, found[1])
      const cursor = /cursor=[^&]+/.exec(next)?.[0]
      for (const other of ['', 'tag=houseplant&', 'tagPrefix=b&', 'untagged=true&q=f&']) {
        assert.equal(errorOf(await service.send('GET', `/plants?${other}${cursor}`)), 40003)
      }
    }
  })

  test('with count=true tells how many match in all, and the next pages do not count again', async () => {
    const service = await withGarden()
    const totalOf = async (path: string) => (await service.send('GET', path)).headers['plantstore-total']
    for (const [query, total] of [
      ['', '7'],
      ['limit=2&sort=-name', '7'],
      ['tag=houseplant&limit=1', '2'],
      ['untagged=true', '1'],
      ['tagPrefix=house&limit=1', '2'],
      ['q=ficus&limit=1', '3'],
      ['q=ficus&tag=none', '0'],
      ['q=%E2%82%AC', '0'],
    ] as const) {
      assert.equal(await totalOf(`/plants?${query}&count=true`), total, query)
      assert.equal(await totalOf(`/plants?${query}`), undefined, query)
    }
    const next = nextOf(await service.send('GET', '/plants?limit=2&count=true')) ?? assert.fail('no further page')
    assert.ok(!next.includes('count'), next)
    assert.equal(await totalOf(`${next}&count=true`), '7')
    const last = nextOf(await service.send('GET', '/plants?limit=5')) ?? assert.fail('no further page')
    assert.equal(await totalOf(`${last}&count=true`), '7', 'on the last page')
    for (const query of ['count=1', 'count=', 'count=true&count=true']) {
      assert.equal(errorOf(await service.send('GET', `/plants?${query}`)), 40003, query)
    }
    const matches = Array.from({ length: 2001 }, (_, i) => plant(BigInt(i + 100), `hedge ${i}`))
    await service.store.importPlants(matches.slice(1), 'add', TESTER)
    assert.equal(await totalOf('/plants?q=hedge&count=true'), '2000')
    await service.store.importPlants(matches.slice(0, 1), 'add', TESTER)
    assert.equal(await totalOf('/plants?q=hedge&count=true'), '>2000')
    assert.equal(await totalOf('/plants?untagged=true&count=true'), '2002')
  })

  test('takes only one of tag, tagPrefix and untagged', async () => {
    const service = await withGarden()
    for (const query of ['tag=a&tagPrefix=a', 'tag=a&untagged=true', 'untagged=true&tagPrefix=a']) {
      for (const path of ['/plants', '/plants/export']) {
        const answer = await service.send('GET', `${path}?${query}`)
        assert.equal(errorOf(answer), 40003)
        assert.match(answer.body, /tag, tagPrefix and untagged exclude each other/)
      }
    }
    for (const query of ['tagPrefix=', `tagPrefix=${'x'.repeat(201)}`, 'untagged=yes', 'tagPrefix=a&tagPrefix=b']) {
      assert.equal(errorOf(await service.send('GET', `/plants?${query}`)), 40003, query)
    }
    assert.equal(messageOf(await service.send('GET', '/plants?tagPrefix=')), 'tagPrefix must not be empty')
  })

  test('has all plants if the search is blank, and none if it has other characters but no word', async () => {
    const service = await withGarden()
    for (const query of ['?q', '?q=', '?q=+', '?q=%E2%80%8B+']) {
      assert.equal((await ids(service, query)).length, 7, query)
    }
    for (const text of ['-.!', '€', '×', '\u0301', '🇩🇪']) {
      for (const sort of ['id', '-name']) {
        const query = `?q=${encodeURIComponent(text)}&sort=${sort}&limit=2`
        const { status, headers, body } = await service.send('GET', `/plants${query}`)
        assert.deepEqual([status, body, headers['link']], [200, '[]', undefined], query)
      }
    }
    assert.equal(errorOf(await service.send('GET', '/plants?q=-&cursor=x')), 40003)
  })
})

suite('the limit of a list', () => {
  onEmpty('is 100 by default, and at most 1000', async (service) => {
    await importMany(service.store, 1001, (i) => ({ id: BigInt(i), name: `plant ${i}`, tag: undefined }))
    for (const [query, length] of [
      ['', 100],
      ['?limit=1', 1],
      ['?limit=50', 50],
      ['?limit=1000', 1000],
      ['?limit=1001', 1000],
      [`?limit=${'9'.repeat(400)}`, 1000],
    ] as const) {
      const answer = await service.send('GET', `/plants${query}`)
      assert.equal(plantsIn(answer.body).length, length, query)
      assert.ok(nextOf(answer)?.startsWith(`/plants?limit=${length}&sort=id&cursor=`), query)
    }
    assert.equal((await service.send('DELETE', '/plants/0')).status, 204)
    const whole = await service.send('GET', '/plants?limit=1000')
    assert.deepEqual([plantsIn(whole.body).length, nextOf(whole)], [1000, undefined], 'the last page has no link')
  })
})
