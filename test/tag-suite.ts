import assert from 'node:assert/strict'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { importAll } from './support/store-calls.ts'
import { type OpenStore, plant, type Suite } from './support/store-under-test.ts'

/** The specification of Store for the list of tags. */
export function tagTests(suite: Suite, open: OpenStore): void {
  suite('a list of tags is ordered by code points and counts the plants of each tag', async (t) => {
    const { store } = await open(t)
    assert.deepEqual(await store.listTags(undefined, 10), [])
    const tags = ['b', 'B', 'a', '', 'á', '\u{10000}', '\uffee', 'a', undefined, 'b', 'a']
    await importAll(
      store,
      tags.map((tag, i) => plant(BigInt(i), 'x', tag)),
    )
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
    assert.deepEqual(await store.listTags(undefined, 10), all)
    assert.deepEqual(await store.listTags(undefined, 3), all.slice(0, 3))
    for (const [i, { tag }] of all.entries()) assert.deepEqual(await store.listTags(tag, 2), all.slice(i + 1, i + 3))
    assert.deepEqual(await store.listTags('aa', 1), [{ tag: 'b', plants: 2 }])
  })

  suite('the count of a tag follows each write, and a tag without plants leaves the list', async (t) => {
    const { store } = await open(t)
    const counts = async () =>
      Object.fromEntries((await store.listTags(undefined, 10)).map(({ tag, plants }) => [tag, plants]))
    for (let i = 0; i < 20; i++) {
      await importAll(
        store,
        [1n, 2n, 3n].map((id) => plant(id, 'x', 'a')),
      )
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
