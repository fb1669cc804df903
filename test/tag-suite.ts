import assert from 'node:assert/strict'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import type { TagQuery } from '../src/domain/plant-query.ts'
import type { TagCount } from '../src/domain/store.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { importAll, importMany } from './support/store-calls.ts'
import { plant, type Suite } from './support/store-under-test.ts'

/** The specification of Store for the list of tags. */
export function tagTests(suite: Suite): void {
  suite('a list of tags is ordered by code points and counts the plants of each tag', async ({ store }) => {
    assert.deepEqual(await store.listTags({}, 10), [])
    const tags = ['b', 'B', 'a', '', 'á', '\u{10000}', '\uffee', 'a', undefined, 'b', 'a']
    const rows = tags.map((tag, i) => plant(BigInt(i), 'x', tag))
    await importAll(store, rows)
    const counts = [
      ['', 1],
      ['B', 1],
      ['a', 3],
      ['b', 2],
      ['á', 1],
      ['\uffee', 1],
      ['\u{10000}', 1],
    ] as const
    const all = counts.map(([tag, plants]) => ({ tag, plants }))
    assert.deepEqual(await store.listTags({}, 10), all)
    assert.deepEqual(await store.listTags({}, 3), all.slice(0, 3))
    for (const [i, { tag }] of all.entries())
      assert.deepEqual(await store.listTags({ after: tag }, 2), all.slice(i + 1, i + 3))
    assert.deepEqual(await store.listTags({ after: 'aa' }, 1), [{ tag: 'b', plants: 2 }])
  })

  suite('a list of tags has those that begin so, and those with words, page by page', async ({ store }) => {
    const tags = ['Bed 1', 'bed', 'bed/Rosé', 'bed/alba 2', 'bed/alba 10', 'bed/', 'Kiku-shidare', 'rose', '', '🌵']
    await importMany(store, 600, (i) => plant(BigInt(i), 'bed', tags[i] ?? `row ${String(i).padStart(3, '0')}`))
    // In the order of code points, as these tags are ASCII up to é and the pictograph.
    const expected: readonly (readonly [TagQuery, readonly string[]])[] = [
      [{ prefix: 'bed' }, ['bed', 'bed/', 'bed/Rosé', 'bed/alba 10', 'bed/alba 2']],
      [{ prefix: 'bed/a' }, ['bed/alba 10', 'bed/alba 2']],
      [{ prefix: 'BED' }, []],
      [{ prefix: 'bed\0' }, []],
      [{ words: ['bed'] }, ['Bed 1', 'bed', 'bed/', 'bed/Rosé', 'bed/alba 10', 'bed/alba 2']],
      [{ words: ['al', 'bed'] }, ['bed/alba 10', 'bed/alba 2']],
      [{ words: ['ros'] }, ['bed/Rosé', 'rose']],
      [{ words: ['kikushidare'] }, ['Kiku-shidare']],
      [{ words: ['🌵'] }, ['🌵']],
      [{ words: ['none'] }, []],
      [{ words: ['row', '599'] }, ['row 599']],
      [{ prefix: 'bed/', words: ['alba', '1'] }, ['bed/alba 10']],
    ]
    for (const [query, found] of expected) {
      for (const limit of [1, 2, 10]) {
        const listed: TagCount[] = []
        for (let page: TagCount[] = []; listed.length === 0 || page.length === limit; listed.push(...page)) {
          page = await store.listTags({ ...query, after: listed.at(-1)?.tag }, limit)
          if (page.length === 0) break
        }
        const wanted = found.map((tag) => ({ tag, plants: 1 }))
        assert.deepEqual(listed, wanted, JSON.stringify(query))
      }
    }
    await importAll(store, [plant(5n, 'bed', 'bed/alba 10'), plant(3n, 'bed', undefined)], 'update')
    assert.deepEqual(await store.listTags({ prefix: 'bed/', words: ['alba'] }, 9), [{ tag: 'bed/alba 10', plants: 2 }])
  })

  suite('the count of a tag follows each write, and a tag without plants leaves the list', async ({ store }) => {
    const counts = async () =>
      Object.fromEntries((await store.listTags({}, 10)).map(({ tag, plants }) => [tag, plants]))
    for (let i = 0; i < 20; i++) {
      const rows = [1n, 2n, 3n].map((id) => plant(id, 'x', 'a'))
      await importAll(store, rows)
      assert.deepEqual(await counts(), { a: 3 })
      await replacePlant(store, plant(1n, 'x', 'b'), NO_EXPECTATION, TESTER)
      assert.deepEqual(await counts(), { a: 2, b: 1 })
      await updatePlant(store, 2n, { tag: null }, NO_EXPECTATION, TESTER)
      assert.deepEqual(await counts(), { a: 1, b: 1 })
      for (const id of [1n, 2n, 3n]) await deletePlant(store, id, NO_EXPECTATION, TESTER)
      assert.deepEqual(await counts(), {})
    }
  })
}
