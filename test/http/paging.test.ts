import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { TESTER } from '../support/actor.ts'
import { nextOf, pagesFrom, plantsIn, put } from '../support/exchanges.ts'
import { emptyService, errorOf, messageOf, type Service } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

const REFUSAL =
  'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor'

async function withPlants(count: number): Promise<Service> {
  const service = await emptyService()
  const plants = Array.from({ length: count }, (_, i) => ({
    id: BigInt(i),
    name: `Pflanze ${i % 7}`,
    tag: ['', 'a', 'b', undefined][i % 4],
  }))
  await service.store.importPlants(plants, 'add', TESTER)
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
    const expected = [8, 7, 5, 4, 2, 1].map(BigInt)
    const ids = pages.flatMap(({ body }) => plantsIn(body)).map(({ id }) => id)
    assert.deepEqual(ids, expected)
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
    const made = [
      '',
      'x',
      '0',
      '7',
      cursor.slice(1),
      cursor.slice(0, -1),
      `${cursor}A`,
      `${cursor}%3D`,
      swapped,
      `${cursor}%20`,
    ]
    const encoded = Buffer.from('{"id":3}').toString('base64url')
    for (const path of [...others, ...[...made, encoded].map((text) => right.replace(cursor, text))]) {
      const answer = await service.send('GET', path)
      assert.deepEqual([answer.status, errorOf(answer), messageOf(answer)], [400, 40003, REFUSAL], path)
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
