import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { NewPlant } from '../../src/domain/plant.ts'
import { withIds } from '../../src/import/assign-ids.ts'
import type { Batch } from '../../src/import/batch.ts'
import type { CsvRow } from '../../src/import/csv-rows.ts'
import { DuplicateFinder } from '../../src/import/duplicates.ts'
import { runImport } from '../../src/import/run-import.ts'
import { foldedName, stepsBetween, unlikenessOf } from '../../src/import/sheet/likeness.ts'
import { RowNotes } from '../../src/import/sheet/recall.ts'
import { SimilarFinder } from '../../src/import/similar.ts'
import { clientOf } from '../client/support.ts'
import { TESTER } from '../support/actor.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { emptyService } from '../support/service.ts'

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

/** The rows of a report, by their lines. */
const listed = (ids: Readonly<Record<number, bigint>>) =>
  Object.entries(ids).map(([line, id]) => ({ line: Number(line), id }))

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
    const duplicateRows = listed({ 1: 1n, 2: 4n })
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
    const duplicateRows = listed({ 2: 1n, 4: 2n })
    assert.deepEqual(await finder.end(), { duplicates: 2, duplicateRows })
  })

  test('counts all rows, lists the first of them, and gives equal rows different plants while there are enough', async () => {
    const { finder } = finderOf({ maxListed: 4 })
    const { batch, results } = added(['plant 9', 'plant 1', 'x', 'plant 9', 'plant 9', 'plant 2'])
    await finder.add(batch, results)
    const duplicateRows = listed({ 1: 9n, 2: 1n, 4: 59n, 5: 59n })
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
    const alike = numbered(300, () => 'Rosa alva')
    const equal = finderOf(alike, Array(300).fill('Rosa alba'))
    assert.equal((await equal.find(new Set([7n]))).length, 299)
  })

  test('within a bounded time for names of any length, of which many are alike', async () => {
    const nameOf = (i: number) => `${i % 2 === 0 ? 'ab' : 'ba'}`.repeat(499)
    const before = process.cpuUsage()
    const names = Array.from({ length: 1000 }, (_, i) => nameOf(i))
    const finder = finderOf(numbered(20_000, nameOf), names)
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

// The storage of a browser, which Node.js has only behind a flag.
const kept = new Map<string, string>()
Object.defineProperty(globalThis, 'localStorage', {
  value: {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, text: string) => void kept.set(name, text),
  },
})
const { dropCells, plantsRecalled, recall, remember } = await import('../../web/src/import/remembered.ts')

const COLUMNS = ['Number', 'Name']
const MAPPING = { id: undefined, name: [1], tag: undefined }

const rowOf = (number: number, ...cells: string[]): CsvRow => ({ number, line: number, cells, isEnded: true })

/** Remembers rows with their ids. */
function keep(...rows: readonly (readonly [id: bigint, ...cells: string[]])[]): void {
  const notes = new RowNotes(COLUMNS, MAPPING)
  for (const [i, [, ...cells]] of rows.entries()) notes.take(rowOf(i + 2, ...cells))
  remember('list.csv', notes, (row) => rows[row - 2]?.[0])
}

/** Rows that would add a plant, by their numbers. */
const adding = (...rows: readonly (readonly [number: number, ...cells: string[]])[]) =>
  new Map(
    rows.map(([row, ...cells]) => [
      row,
      { row: rowOf(row, ...cells), plant: { id: undefined, name: cells[1] ?? '', tag: undefined } },
    ]),
  )

suite('the ids of an earlier import of a file', () => {
  test('are recalled by a column that names each plant', async () => {
    keep([7n, 'A-1', 'Rosa'], [8n, 'A-2', 'Aloe'])
    const found = recall('list (1).csv', COLUMNS, [{ row: 2, id: undefined }], adding([2, 'A-2', 'Aloe vera']))
    const shown = found.map(({ id, isNamed, candidate }) => [id, isNamed, candidate.row.number])
    assert.deepEqual(shown, [[8n, true, 2]])
    assert.ok(![...kept.values()].some((text) => text.includes('A-2')), 'a cell is kept in clear')
  })

  test('that version 1.0.0 kept with cells lose these at the start of the page', async () => {
    keep([7n, 'A-1', 'Rosa'])
    const [[name = '', text = ''] = []] = [...kept].filter(([, each]) => each.includes('list.csv'))
    kept.set(name, text.replace(/"hashes":"[^"]*"/, '"cells":["Ada Lovelace"]'))
    dropCells()
    assert.ok(!kept.get(name)?.includes('Ada'))
  })

  test('are not recalled where another row has the plant already', async () => {
    keep([7n, 'A-1', 'Rosa'], [8n, 'A-2', 'Aloe'])
    const rows = [
      { row: 2, id: 8n },
      { row: 3, id: undefined },
    ]
    assert.deepEqual(recall('list.csv', COLUMNS, rows, adding([3, 'A-2', 'Aloe vera'])), [])
  })

  test('are not recalled by a column with a cell that is empty, long or there twice', async () => {
    for (const cells of [
      ['', 'A-2'],
      ['A-1', 'A-1'],
      ['x'.repeat(61), 'A-2'],
    ]) {
      const [one = '', two = ''] = cells
      keep([7n, one, 'Rosa'], [8n, two, 'Aloe'])
      const rows = [2, 3, 4].map((row) => ({ row, id: undefined }))
      assert.deepEqual(recall('list.csv', COLUMNS, rows, adding([4, two, 'Aloe vera'])), [], cells.join())
    }
  })
})

test('a plant whose row stands where it stood is offered only if it is like the row', async () => {
  const client = clientOf(await emptyService())
  await client.createPlant({ id: 1n, name: 'Rosa alba', tag: 'bed 1' })
  await client.createPlant({ id: 2n, name: 'Quercus robur', tag: 'bed 2' })
  await client.createPlant({ id: 3n, name: 'Acer rubrum', tag: 'bed 3' })
  const recalled = (id: bigint, name: string, tag: string, isNamed = false) => ({
    candidate: { row: rowOf(Number(id)), plant: { id: undefined, name, tag } },
    id,
    isNamed,
  })
  const rows = [
    recalled(1n, 'Rosa × alba', 'another bed'),
    recalled(2n, 'Fagus sylvatica', 'bed 2'),
    recalled(3n, 'Tilia cordata', 'another bed'),
    recalled(4n, 'gone', 'bed 4'),
  ]
  const found = await plantsRecalled(client, rows, AbortSignal.timeout(60_000))
  assert.deepEqual(found.map(({ row }) => row.number).toSorted(), [1, 2])
  const named = [recalled(3n, 'Tilia cordata', 'another bed', true)]
  assert.equal((await plantsRecalled(client, named, AbortSignal.timeout(60_000))).length, 1)
})
