import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { compareCodePoints } from '../../src/domain/plant-query.ts'
import { TESTER } from '../support/actor.ts'
import { nextOf, pagesFrom, plantsIn, put } from '../support/exchanges.ts'
import { expectedTags } from '../support/expected.ts'
import { pluck } from '../support/pluck.ts'
import { assertRefused, emptyService, errorOf, messageOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { words } from '../support/words.ts'

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
      assert.deepEqual(pluck(plantsIn(`[${body.trim().replaceAll('\n', ',')}]`), 'id'), found)
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
        const excluding = /tag, tagPrefix and untagged exclude each other/
        assertRefused(await service.send('GET', `${path}?${query}`), 40003, excluding)
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

onEmpty('the limit of a list is 100 by default, and at most 1000', async (service) => {
  await importMany(service.store, 1001, (i) => plant(BigInt(i)))
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

const REFUSAL =
  'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor'

async function withPlants(count: number): Promise<Service> {
  const service = await emptyService()
  const tagOf = (i: number) => ['', 'a', 'b', undefined][i % 4]
  await importMany(service.store, count, (i) => plant(BigInt(i), `Pflanze ${i % 7}`, tagOf(i)))
  return service
}

const cursorOf = (target: string | undefined): string =>
  new URL(target ?? assert.fail('no next page'), 'http://a').searchParams.get('cursor') ?? assert.fail()

suite('the pages of a list', () => {
  onEmpty('keep the parameters of their request in their links, even a blank query', async (service) => {
    for (let id = 0; id < 3; id++) await service.create({ id, name: 'x' })
    // More reads than the cache needs to keep a value.
    for (let i = 0; i < 4; i++) {
      for (const query of ['limit=1', 'limit=1&q=', 'limit=1&q=%20']) {
        const link = String((await service.send('GET', `/plants?${query}`)).headers['link'])
        const next = new URLSearchParams(/\?(.*)>/.exec(link)?.[1])
        assert.equal(next.get('q'), new URLSearchParams(query).get('q'))
        assert.equal((await service.send('GET', `/plants?${next}`)).body, '[{"id":1,"name":"x"}]')
      }
    }
  })

  onEmpty('keep all filters, even those that need encoding', async (service) => {
    const tag = 'a&b=c+d%20e/"<>ä🌵\n'
    for (let id = 0; id < 9; id++) await put(service, id, { name: `Käfer ${id}`, tag: id % 3 === 0 ? 'other' : tag })
    const query = `?limit=2&sort=-name&q=k%C3%A4f&tag=${encodeURIComponent(tag)}&tag=`
    const pages = await pagesFrom(service, `/plants${query}`)
    const ids = pages.flatMap(({ body }) => pluck(plantsIn(body), 'id'))
    assert.deepEqual(ids, [8n, 7n, 5n, 4n, 2n, 1n])
    const { searchParams } = new URL(nextOf(pages[0] ?? assert.fail()) ?? '', 'http://a')
    const found = [...searchParams].filter(([name]) => name !== 'cursor')
    assert.deepEqual(found, [
      ['limit', '2'],
      ['sort', '-name'],
      ['tag', tag],
      ['tag', ''],
      ['q', 'käf'],
    ])
  })

  onEmpty('have links of bounded length, even with long names', async (service) => {
    for (const id of [1, 2]) await service.create({ id, name: '\u{1f331}'.repeat(1000) })
    const link = String((await service.send('GET', '/plants?sort=name&limit=1')).headers['link'])
    assert.ok(link.length < 1000, link)
    assert.deepEqual((await pagesFrom(service, '/plants?sort=name&limit=1')).length, 2)
  })
})

suite('a cursor', () => {
  onEmpty('stays valid on every instance and after restarts, for all of version 1.x', async (service) => {
    for (const id of [1, 2, 3]) await service.create({ id, name: `Ünger ${id}` })
    const targets = [
      '/plants?limit=1&sort=id&cursor=0Sqlr7uVTMwAAAAAAAAAAQ',
      '/plants?limit=1&sort=-name&tag=&tag=x&q=U&cursor=d9mSMMYg-dcAAAAAAAAAA3VuZ2VyIDM',
    ]
    await put(service, 2, { name: 'Ünger 2', tag: 'x' })
    await put(service, 3, { name: 'Ünger 3', tag: '' })
    const [byId, byName] = [
      await service.send('GET', '/plants?limit=1'),
      await service.send('GET', '/plants?limit=1&sort=-name&tag=&tag=x&q=U'),
    ]
    assert.deepEqual([byId, byName].map(nextOf), targets)
  })

  test('of another list, order or filter is refused, and so is a forged one', async () => {
    const service = await withPlants(12)
    const cursor = cursorOf(nextOf(await service.send('GET', '/plants?limit=2&tag=a&tag=&q=pfl')))
    const right = `/plants?tag=a&tag=&q=pfl&cursor=${cursor}`
    assert.equal((await service.send('GET', right)).status, 200)
    assert.equal((await service.send('GET', right.replace('tag=a&tag=', 'tag=&tag=a&tag=a'))).status, 200)
    const others = [
      right.replace('tag=a&', ''),
      right.replace('tag=a', 'tag=b'),
      right.replace('q=pfl', 'q=pf'),
      right.replace('&q=pfl', ''),
      `${right}&sort=-id`,
      `${right}&sort=name`,
      `/plants?cursor=${cursor}`,
      `/tags?cursor=${cursor}`,
    ]
    const swapped = cursor.startsWith('A') ? `B${cursor.slice(1)}` : `A${cursor.slice(1)}`
    const made = ['', ...words`x 0 7`, cursor.slice(1), cursor.slice(0, -1), swapped].concat(
      ['A', '%3D', '%20'].map((more) => cursor + more),
    )
    const encoded = Buffer.from('{"id":3}').toString('base64url')
    for (const path of [...others, ...[...made, encoded].map((text) => right.replace(cursor, text))]) {
      assertRefused(await service.send('GET', path), 40003, REFUSAL)
    }
  })

  test('is refused with any character changed', async () => {
    const service = await withPlants(3)
    const cursor = cursorOf(nextOf(await service.send('GET', '/plants?limit=1&sort=name')))
    for (let i = 0; i < cursor.length; i++) {
      for (const other of ['A', '_', 'z']) {
        if (cursor[i] === other) continue
        const wrong = cursor.slice(0, i) + other + cursor.slice(i + 1)
        const answer = await service.send('GET', `/plants?sort=name&cursor=${wrong}`)
        assert.equal(messageOf(answer), REFUSAL, wrong)
      }
    }
  })
})

suite('the list of tags', () => {
  onEmpty('counts the plants of each tag, the empty tag included, ordered by code points', async (service) => {
    assert.equal((await service.send('GET', '/tags')).body, '[]')
    const tags = ['', 'b', 'B', 'a', 'a', '\uffff', '\u{1f331}', 'é', 'e\u0301', undefined, 'b', 'a']
    for (const [id, tag] of tags.entries()) await service.create({ id, name: 'x', tag })
    const answer = await service.send('GET', '/tags')
    assert.deepEqual(answer.json, expectedTags(tags.map((tag, id) => ({ id: BigInt(id), name: 'x', tag }))))
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
    await service.send('DELETE', '/plants/0')
    assert.equal((await service.send('GET', '/tags')).body.includes('"tag":""'), false)
  })

  onEmpty('has those that begin so or have words, on their pages, and refuses what is neither', async (service) => {
    const tags = ['bed/1', 'bed/2 alba', 'bed/3 alba', 'Bed', 'rosé']
    for (const [id, tag] of tags.entries()) await service.create({ id, name: 'alba', tag })
    const all = async (query: string) =>
      (await pagesFrom(service, `/tags?${query}&limit=1`)).flatMap(({ json }) => json as { tag: string }[])
    assert.deepEqual(pluck(await all('prefix=bed%2F'), 'tag'), ['bed/1', 'bed/2 alba', 'bed/3 alba'])
    assert.deepEqual(await all('prefix=bed%2F&q=Alb%20BED'), [
      { tag: 'bed/2 alba', plants: 1 },
      { tag: 'bed/3 alba', plants: 1 },
    ])
    assert.deepEqual(await all('q=ROSE'), [{ tag: 'rosé', plants: 1 }])
    assert.equal((await all('q=%20')).length, 5)
    assert.deepEqual(await all('q=%2F'), [])
    const [, next = ''] = /<([^>]+)>/.exec(String((await service.send('GET', '/tags?limit=1')).headers['link'])) ?? []
    for (const refused of ['prefix=', `prefix=${'x'.repeat(201)}`, 'q=%00', 'prefix=a&prefix=b', 'tagPrefix=a']) {
      assert.equal(errorOf(await service.send('GET', `/tags?${refused}`)), 40003, refused)
    }
    assert.equal(errorOf(await service.send('GET', `${next}&prefix=bed`)), 40003)
  })

  onEmpty('has pages that together are the whole list, even with the longest tags', async (service) => {
    const [long, huge] = ['tag '.repeat(49), '\u{1f331}'.repeat(199)]
    const tags = ['', 'a', long, `${long}a`, `${long}\u{1f331}`, long.slice(0, 190), huge, `${huge}a`, `${huge}b`]
    const plants = tags.map((tag, i) => ({ id: BigInt(i), name: 'x', tag }))
    await service.store.importPlants(plants, 'add', TESTER)
    const pages = await pagesFrom(service, '/tags?limit=1')
    for (const page of pages) assert.ok(String(page.headers['link'] ?? '').length < 1500)
    const expected = tags.toSorted(compareCodePoints).map((tag) => ({ tag, plants: 1 }))
    assert.deepEqual(pluck(pages, 'json').flat(), expected)
  })
})
