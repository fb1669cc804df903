import assert from 'node:assert/strict'
import { suite } from 'node:test'
import { compareCodePoints } from '../../src/domain/plant-query.ts'
import { TESTER } from '../support/actor.ts'
import { pagesFrom } from '../support/exchanges.ts'
import { errorOf } from '../support/service.ts'
import { onEmpty } from '../support/service-tests.ts'

suite('the list of tags', () => {
  onEmpty('counts the plants of each tag, the empty tag included, ordered by code points', async (service) => {
    assert.equal((await service.send('GET', '/tags')).body, '[]')
    const tags = ['', 'b', 'B', 'a', 'a', '\uffff', '\u{1f331}', 'é', 'e\u0301', undefined, 'b', 'a']
    for (const [id, tag] of tags.entries()) await service.create({ id, name: 'x', tag })
    const answer = await service.send('GET', '/tags')
    const present = tags.filter((tag) => tag !== undefined)
    const expected = [...new Set(present)]
      .toSorted(compareCodePoints)
      .map((tag) => ({ tag, plants: present.filter((other) => other === tag).length }))
    assert.deepEqual(answer.json, expected)
    assert.equal(answer.headers['cache-control'], 'private, no-cache')
    await service.send('DELETE', '/plants/0')
    assert.equal((await service.send('GET', '/tags')).body.includes('"tag":""'), false)
  })

  onEmpty('has those that begin so or have words, on their pages, and refuses what is neither', async (service) => {
    const tags = ['bed/1', 'bed/2 alba', 'bed/3 alba', 'Bed', 'rosé']
    for (const [id, tag] of tags.entries()) await service.create({ id, name: 'alba', tag })
    const all = async (query: string) =>
      (await pagesFrom(service, `/tags?${query}&limit=1`)).flatMap(({ json }) => json as { tag: string }[])
    const found = (await all('prefix=bed%2F')).map(({ tag }) => tag)
    assert.deepEqual(found, ['bed/1', 'bed/2 alba', 'bed/3 alba'])
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
    assert.deepEqual(
      pages.flatMap(({ json }) => json),
      tags.toSorted(compareCodePoints).map((tag) => ({ tag, plants: 1 })),
    )
  })
})
