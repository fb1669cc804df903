import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { compareCodePoints, matches } from '../../src/domain/plant-query.ts'
import { TESTER } from '../support/actor.ts'
import { pagesFrom, plantsIn } from '../support/exchanges.ts'
import { emptyService } from '../support/service.ts'

suite('the list of tags', () => {
  test('counts the plants of each tag, the empty tag included, ordered by code points', async () => {
    const service = await emptyService()
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

  test('has pages that together are the whole list, even with the longest tags', async () => {
    const service = await emptyService()
    const long = 'tag '.repeat(49)
    const huge = '\u{1f331}'.repeat(199)
    const tags = [
      '',
      'a',
      long,
      `${long}a`,
      `${long}b`,
      `${long}\u{1f331}`,
      long.slice(0, 190),
      'z',
      huge,
      `${huge}a`,
      `${huge}b`,
    ]
    const plants = tags.map((tag, i) => ({ id: BigInt(i), name: 'x', tag }))
    await service.store.importPlants(plants, 'add', TESTER)
    for (const limit of [1, 2, 3, 4, 5, 11]) {
      const pages = await pagesFrom(service, `/tags?limit=${limit}`)
      for (const page of pages) assert.ok(String(page.headers['link'] ?? '').length < 1500)
      assert.deepEqual(
        pages.flatMap(({ json }) => json),
        tags.toSorted(compareCodePoints).map((tag) => ({ tag, plants: 1 })),
        `limit ${limit}`,
      )
    }
  })

  test('counts as many plants of a tag as a list with that tag has', async () => {
    const service = await emptyService()
    for (let id = 0; id < 20; id++) await service.create({ id, name: 'x', tag: ['', 'a', 'b & c', undefined][id % 4] })
    const { json } = await service.send('GET', '/tags')
    for (const { tag, plants } of json as { tag: string; plants: number }[]) {
      const listed = plantsIn((await service.send('GET', `/plants?tag=${encodeURIComponent(tag)}`)).body)
      assert.equal(listed.length, plants)
      for (const plant of listed) assert.ok(matches({ tags: [tag], words: [] }, plant))
    }
  })
})
