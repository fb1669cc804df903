import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { NewPlant } from '../../src/domain/plant.ts'
import { DuplicateFinder } from '../../src/import/duplicates.ts'

const plant = (id: number, name: string): NewPlant => ({ id: BigInt(id), name, tag: undefined })
const STORED = Array.from({ length: 100 }, (_, i) => plant(i, `plant ${i % 50}`))

/** A finder over the stored plants, and the number of plants that it has read. */
function finderOf(bounds: { maxRows?: number; maxListed?: number }) {
  const read = { plants: 0, times: 0 }
  const finder = new DuplicateFinder(async function* () {
    read.times++
    for (const each of STORED) {
      read.plants++
      yield [each]
    }
  }, bounds)
  return { finder, read }
}

const added = (names: readonly string[], first = 0) => ({
  batch: {
    plants: names.map((name, i) => plant(1000 + i, name)),
    lines: names.map((_, i) => first + i + 1),
    refused: [],
  },
  results: names.map(() => 'added' as const),
})

suite('the search for duplicates', () => {
  test('reads the store once for so many rows, and finds the same as for all rows at once', async () => {
    const names = Array.from({ length: 90 }, (_, i) => `plant ${i}`)
    const all = []
    for (const maxRows of [1000, 30, 7]) {
      const { finder, read } = finderOf({ maxRows })
      for (let at = 0; at < names.length; at += 10) {
        const { batch, results } = added(names.slice(at, at + 10), at)
        await finder.add(batch, results)
      }
      all.push(await finder.end())
      assert.equal(read.times, maxRows === 1000 ? 1 : maxRows === 30 ? 3 : 9)
    }
    const rows = Array.from({ length: 50 }, (_, i) => ({ line: i + 1, id: BigInt(i) }))
    for (const found of all) assert.deepEqual(found, { duplicates: 50, duplicateRows: rows })
  })

  test('stops reading at the last match, and reads nothing if no row would add a plant', async () => {
    const { finder, read } = finderOf({})
    await finder.end()
    assert.equal(read.times, 0)
    const { batch } = added(['plant 3'])
    await finder.add(batch, ['unchanged'])
    await finder.end()
    assert.equal(read.times, 0)
    await finder.add(batch, ['added'])
    assert.deepEqual(await finder.end(), { duplicates: 1, duplicateRows: [{ line: 1, id: 3n }] })
    assert.equal(read.plants, 4)
  })

  test('goes on to other names where more stored plants than rows have one name', async () => {
    const finder = new DuplicateFinder(async function* () {
      yield [plant(1, 'a'), plant(2, 'a'), plant(3, 'a'), plant(4, 'b')]
    })
    const { batch, results } = added(['a', 'b'])
    await finder.add(batch, results)
    const duplicateRows = [
      { line: 1, id: 1n },
      { line: 2, id: 4n },
    ]
    assert.deepEqual(await finder.end(), { duplicates: 2, duplicateRows })
  })

  test('compares long texts as exactly as short ones', async () => {
    const long = 'x'.repeat(100_000)
    const finder = new DuplicateFinder(async function* () {
      yield [plant(1, `${long}a`), { ...plant(2, long), tag: 'b' }]
    })
    const coming = [plant(10, `${long}b`), plant(11, `${long}a`), plant(12, long), { ...plant(13, long), tag: 'b' }]
    const results = coming.map(() => 'added' as const)
    await finder.add({ plants: coming, lines: [1, 2, 3, 4], refused: [] }, results)
    const duplicateRows = [
      { line: 2, id: 1n },
      { line: 4, id: 2n },
    ]
    assert.deepEqual(await finder.end(), { duplicates: 2, duplicateRows })
  })

  test('counts all rows, lists the first of them, and gives equal rows different plants while there are enough', async () => {
    const { finder } = finderOf({ maxListed: 4 })
    const { batch, results } = added(['plant 9', 'plant 1', 'x', 'plant 9', 'plant 9', 'plant 2'])
    await finder.add(batch, results)
    const duplicateRows = [
      { line: 1, id: 9n },
      { line: 2, id: 1n },
      { line: 4, id: 59n },
      { line: 5, id: 59n },
    ]
    assert.deepEqual(await finder.end(), { duplicates: 5, duplicateRows })
  })
})
