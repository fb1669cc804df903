import assert from 'node:assert/strict'
import type { NewPlant } from '../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantOrder, type TagFilter } from '../src/domain/plant-query.ts'
import { TESTER } from './support/actor.ts'
import { exportAll, importAll, listAll } from './support/store-calls.ts'
import { plant, type Suite } from './support/store-under-test.ts'

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
