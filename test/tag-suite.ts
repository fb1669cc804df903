import assert from 'node:assert/strict'
import { type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantOrder, type TagFilter, type TagQuery } from '../src/domain/plant-query.ts'
import type { TagCount } from '../src/domain/store.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { exportAll, importAll, importMany, listAll } from './support/store-calls.ts'
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

/** Tags around the ends of what a prefix may mean, in code points. */
const TAGS = [
  undefined,
  '',
  'conifer',
  'conifer.',
  'conifer/',
  'conifer/a',
  'conifer/a/b',
  'conifer/\u{10ffff}x',
  'conifer0',
  'Conifer/a',
  'cönifer/',
  '\ud7ff',
  '\ud7ffa',
  '\ue000',
  '\u{10ffff}',
  '\u{10ffff}\u{10ffff}',
  '%',
  '_',
]
const PREFIXES = [
  'c',
  'conifer',
  'conifer/',
  'conifer/a',
  'conifer/\u{10ffff}',
  '\ud7ff',
  '\u{10ffff}',
  '%',
  'none',
  'a\0',
]

/** The specification of Store for plants without a tag, and for those with a tag that begins in a way. */
export function taggingTests(suite: Suite): void {
  suite('lists and exports have exactly the plants without a tag, or whose tag begins so', async ({ store }) => {
    const many = Array.from({ length: 300 }, (_, i) => `many/${i}`)
    const all = [...TAGS, ...TAGS, ...many].map((tag, i) =>
      plant(BigInt(i - 20), `${i % 3 === 0 ? 'fern' : 'moss'} n${i}`, tag),
    )
    await importAll(store, all)
    const assertAll = async (plants: readonly NewPlant[], orders: readonly PlantOrder[]) => {
      const filters: readonly (readonly [Partial<TagFilter>, (one: NewPlant) => boolean])[] = [
        [{}, () => true],
        [{ tags: ['conifer/', 'many/1', 'none'] }, ({ tag = '' }) => ['conifer/', 'many/1'].includes(tag)],
        [{ untagged: true }, ({ tag }: NewPlant) => tag === undefined] as const,
        ...[...PREFIXES, 'many/', 'many/1'].map(
          (tagPrefix) => [{ tagPrefix }, ({ tag }: NewPlant) => tag?.startsWith(tagPrefix) === true] as const,
        ),
      ]
      for (const [part, has] of filters) {
        for (const words of [[], ['fern'], ['fern', 'n3']]) {
          const isFound = (one: NewPlant) =>
            has(one) && words.every((word) => one.name.includes(` ${word}`) || one.name.startsWith(word))
          const found = plants.filter(isFound).map(({ id }) => id)
          const filter = { tags: [], ...part, words }
          assert.equal(await store.countMatches(filter, 10_000), found.length, JSON.stringify(filter))
          if (words.length > 0) assert.equal(await store.countMatches(filter, 3), Math.min(3, found.length))
          for (const order of orders) {
            const what = `${JSON.stringify(filter)} ${order}`
            const listed = (await listAll(store, { ...filter, order }, 97)).map(({ id }) => id)
            assert.deepEqual(listed.toSorted(), found.toSorted(), what)
            const ids = (await exportAll(store, filter, order)).map(({ id }) => id)
            assert.deepEqual(ids, listed, what)
          }
        }
      }
      const tags = (await store.listTags({}, 10_000)).map(({ tag }) => tag)
      assert.deepEqual(tags.toSorted(), [...new Set(plants.flatMap(({ tag }) => tag ?? []))].toSorted())
    }
    await assertAll(all, PLANT_ORDERS)
    const changed = all
      .slice(2)
      .map((one, i) => (i % 4 === 0 ? { ...one, tag: i % 8 === 0 ? undefined : 'conifer/new' } : one))
    await importAll(store, changed, 'update')
    await store.importPlants(all.slice(0, 2), 'delete', TESTER)
    await assertAll(changed, ['id', '-name'])
  })

  suite('the first and the last id are found by a tag, by its start and by words, in each order', async ({ store }) => {
    const ends = [-(2n ** 63n), 0n, 2n ** 63n - 1n].map((id) => plant(id, 'Rosa alba', ''))
    await importAll(store, [...ends, plant(1n, 'Acer', 'bed')])
    const filters = [
      { tags: [''], words: [] },
      { tags: [''], words: ['rosa', 'alba'] },
      { tags: [], words: ['alba'] },
    ]
    for (const order of PLANT_ORDERS) {
      const inOrder = order.startsWith('-') ? ends.toReversed() : ends
      for (const filter of filters) assert.deepEqual(await listAll(store, { ...filter, order }, 2), inOrder, order)
    }
  })
}
