import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { NewPlant } from '../../src/domain/plant.ts'
import { withIds } from '../../src/import/assign-ids.ts'
import type { Batch } from '../../src/import/batch.ts'
import { DuplicateFinder } from '../../src/import/duplicates.ts'
import { runImport } from '../../src/import/run-import.ts'
import { foldedName, stepsBetween, unlikenessOf } from '../../src/import/sheet/likeness.ts'
import { SimilarFinder } from '../../src/import/similar.ts'
import { TESTER } from '../support/actor.ts'
import { openSqlite } from '../support/open-sqlite.ts'

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

suite('a row is like a stored plant', () => {
  const like = (one: string, other: string): boolean => unlikenessOf(foldedName(one), foldedName(other)) !== undefined

  test('if a fifth of the name differs at most, whatever case, accents and punctuation', () => {
    assert.ok(like('Acer palmtum', 'Acer palmatum'))
    assert.ok(like('Hydrangae macrophylla', 'Hydrangea macrophylla'))
    assert.ok(like('rosa “peace”', "Rosa 'Peace'"))
    assert.ok(like('Crocosmia Züricher See', 'crocosmia Zuricher-See'))
    assert.ok(!like('Acer palmatum', 'Acer rubrum'))
    assert.ok(!like("Rosa 'Peace'", "Rosa 'Charles Austin'"))
    assert.ok(!like('Abies', 'Acer'))
  })

  test('if one name continues the other, but not if their numbers differ', () => {
    assert.ok(like('Acer palmatum', "Acer palmatum 'Osakazuki'"))
    assert.ok(!like('Seedling 12', 'Seedling 13'))
    assert.ok(!like('Acer', 'Acerola'))
  })

  test('after few steps, so that a turn looks at the time between two names of any characters', () => {
    for (const character of ['ﷺ', '뷁', 'a', 'ab']) {
      const [one, other] = [character.repeat(1000), `${character.repeat(999)}x`].map(foldedName)
      assert.ok(one && other && stepsBetween(one, other) <= 2 ** 17, character)
    }
  })

  /** Plants that are stored, and a finder beside them, after it has taken rows. */
  const finderOf = (stored: readonly NewPlant[], names: readonly string[]): SimilarFinder => {
    const finder = new SimilarFinder(async function* () {
      for (let at = 0; at < stored.length; at += 1000) yield stored.slice(at, at + 1000)
    })
    for (const [i, name] of names.entries()) finder.add(i, { id: 0n, name, tag: 'all' })
    return finder
  }

  const numbered = (count: number, nameOf: (i: number) => string): NewPlant[] =>
    Array.from({ length: count }, (_, i) => ({ id: BigInt(i), name: nameOf(i), tag: 'all' }))

  test('which is found for a full number of rows in a tag of thousands within seconds, and for equal names', async () => {
    const genera = ['Acer', 'Abies', 'Betula', 'Rosa', 'Salix', 'Quercus']
    const nameOf = (i: number) => `${genera[i % 6]} ${(i * 7919).toString(36)}us ${(i * 104_729).toString(36)}`
    const rows = Array.from({ length: 1000 }, (_, i) => `${nameOf(i * 17)}x`)
    const before = process.cpuUsage()
    const found = await finderOf(numbered(20_000, nameOf), rows).find(new Set())
    assert.ok(process.cpuUsage(before).user < 20e6)
    assert.ok(found.filter(({ line, plant }) => plant.id === BigInt(line * 17)).length > 900)
    const equal = finderOf(
      numbered(300, () => 'Rosa alva'),
      Array.from({ length: 300 }, () => 'Rosa alba'),
    )
    assert.equal((await equal.find(new Set([7n]))).length, 299)
  })

  test('within a bounded time for names of any length, of which many are alike', async () => {
    const nameOf = (i: number) => `${i % 2 === 0 ? 'ab' : 'ba'}`.repeat(499)
    const before = process.cpuUsage()
    const finder = finderOf(
      numbered(20_000, nameOf),
      Array.from({ length: 1000 }, (_, i) => nameOf(i)),
    )
    await finder.find(new Set())
    // All comparisons would take hours.
    assert.ok(process.cpuUsage(before).user < 20e6)
  })
})

/** Batches of rows that have these names, each row in a line of its own. */
function* batchesOf(count: number, nameOf: (i: number) => string): Generator<Batch, void> {
  for (let at = 0; at < count; at += 1000) {
    const lines = Array.from({ length: Math.min(1000, count - at) }, (_, i) => at + i + 1)
    yield { plants: lines.map((line) => ({ id: 0n, name: nameOf(line), tag: undefined })), lines, refused: [] }
  }
}

async function* slowly(batches: Iterable<Batch>): AsyncGenerator<Batch, void> {
  yield* batches
}

test('rows of several groups are plants of one file: equal ones too, and with a key in each attempt', async (t) => {
  const { store } = await openSqlite(t)
  const options = { mode: 'add', dryRun: false, duplicates: false, actor: TESTER } as const
  const nameOf = (i: number) => `plant ${i % 50_000}`
  const run = async (key: string | undefined, count = 60_000) => {
    const counts = [0, 0]
    const numbered = withIds(store, slowly(batchesOf(count, nameOf)), { actor: TESTER, dryRun: false, key })
    await runImport(store, numbered, options, ({ added, unchanged }) => {
      counts[0] = (counts[0] ?? 0) + added
      counts[1] = (counts[1] ?? 0) + unchanged
    })
    return counts
  }
  assert.deepEqual(await run('a key of this test'), [60_000, 0])
  assert.deepEqual(await run('a key of this test'), [0, 60_000])
  assert.deepEqual(await run(undefined), [0, 60_000])
  await assert.rejects(run('a key of this test', 59_999), { number: 40902 })
  assert.equal(await store.countPlants(), 60_000)
})
