import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { NewPlant } from '../src/domain/plant.ts'
import { isByName, PLANT_ORDERS, type PlantFilter, type PlantOrder } from '../src/domain/plant-query.ts'
import { openReader } from '../src/sqlite/connection.ts'
import { indexPath } from '../src/sqlite/indexed.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { QueryReader } from '../src/sqlite/read/query-reader.ts'
import { columnsOf, StatementCache } from '../src/sqlite/rows.ts'
import { IndexStatements } from '../src/sqlite/search-index/index-file.ts'
import type { Task } from '../src/sqlite/worker/cooperative.ts'
import { SqliteWriter } from '../src/sqlite/write/writer.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { indexAll } from './support/sqlite-indexes.ts'
import { plant } from './support/store-under-test.ts'
import { TAGGINGS, taggedPlants } from './support/tagged-plants.ts'

/** The order of names, in which a list by name walks to the end of its page, and tables of one row. */
const SCANNED = ['', 'names', 'state', 'store_identity']

function run<T>(task: Task<T>): { readonly steps: number; readonly value: T } {
  for (let steps = 1; ; steps++) {
    const step = task.next()
    if (step.done === true) return { steps, value: step.value }
  }
}

/** Makes an indexed store. @returns its path */
function filled(t: TestContext, plants: readonly NewPlant[]): string {
  const path = join(tempFolder(t), 'plants.db')
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  writer.importPlants(columnsOf(plants), 'add', { actor: 'tester' })
  writer.close()
  indexAll(path)
  return path
}

function readerOf(t: TestContext, path: string): QueryReader {
  const reader = new QueryReader(path)
  cleanUp(t, () => reader.close())
  return reader
}

test('a list, a search and a count by the start of a tag or by none read indexes, and sort no table', (t) => {
  const path = filled(t, taggedPlants())
  const reader = readerOf(t, path)
  const [store, index] = [openReader(path), openReader(indexPath(path))]
  cleanUp(t, () => store.close())
  cleanUp(t, () => index.close())
  const reads = (['get', 'all', 'iterate'] as const).map((name) => t.mock.method(StatementCache.prototype, name).mock)
  for (const { filter } of TAGGINGS) {
    for (const read of reads) read.resetCalls()
    for (const order of PLANT_ORDERS) {
      for (const after of [undefined, { key: isByName(order) ? 'name5' : '', id: 50_000n }]) {
        run(reader.listPlants({ ...filter, order, after }, 100, false))
      }
    }
    run(reader.countMatches(filter, 5001, false))
    const asked = new Map(
      reads.flatMap(({ calls }) =>
        calls.map((call) => [call.arguments[0], call.this instanceof IndexStatements ? index : store]),
      ),
    )
    assert.ok(asked.size > 1)
    // A page of plants with one of 700 tags is found soonest in the order of the ids themselves.
    for (const [sql, db] of asked) {
      for (const { detail } of db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()) {
        const [, scanned = ''] = /^SCAN (\w+)$/.exec(String(detail)) ?? []
        const isWalk = filter.tagPrefix === 'house' && scanned === 'plants'
        assert.ok(isWalk || SCANNED.includes(scanned), `${JSON.stringify(filter)}: ${detail}: ${sql}`)
        assert.doesNotMatch(String(detail), /^USE TEMP B-TREE FOR ORDER BY/, sql)
      }
    }
  }
})

/** The steps of an export in an order, of a step of 64 plants or of some hundred ids at most each. */
function stepsOfExport(reader: QueryReader, filter: PlantFilter, order: PlantOrder): number {
  let { steps } = run(reader.openExport(1, filter, order, false, false))
  const found: bigint[] = []
  for (let chunk = run(reader.readExport(1)); chunk.value.ids.length > 0; chunk = run(reader.readExport(1))) {
    steps += chunk.steps
    found.push(...chunk.value.ids)
  }
  reader.closeExport(1)
  assert.equal(found.length, 2)
  return steps
}

test('an export of few plants takes as many steps in a large store as in a small one, in any order', (t) => {
  const [small, large] = [8000, 64_000].map((size) => {
    const rare = [50, size - 5000]
    const plants = Array.from({ length: size }, (_, i) =>
      rare.includes(i) ? plant(BigInt(i), 'Rosa alba', 'bed/rare') : plant(BigInt(i), `Rosa ${i}`, `bed ${i % 50}`),
    )
    return readerOf(t, filled(t, plants))
  })
  assert.ok(small && large)
  const all: PlantFilter = { tags: [], words: [] }
  for (const part of [{ words: ['alba'] }, { words: ['rosa', 'al'] }, { tags: ['bed/rare'] }, { tagPrefix: 'bed/' }]) {
    for (const order of PLANT_ORDERS) {
      const filter = { ...all, ...part }
      const few = stepsOfExport(small, filter, order)
      const many = stepsOfExport(large, filter, order)
      assert.ok(many <= 2 * few, `${JSON.stringify(part)} by ${order}: ${few} steps, and ${many} in the large store`)
    }
  }
})

test('a page of tags of very different frequency reads few more entries of these than it has plants', (t) => {
  const plants = Array.from({ length: 20_000 }, (_, i) => plant(BigInt(i), 'x', i < 19_700 ? 'bed' : `bed ${i}`))
  const reader = readerOf(t, filled(t, plants))
  const { mock } = t.mock.method(StatementCache.prototype, 'all')
  const query = { tags: [], tagPrefix: 'bed', words: [], order: 'id', after: undefined } as const
  assert.deepEqual(run(reader.listPlants(query, 1000, false)).value, columnsOf(plants.slice(0, 1000)))
  const read = mock.calls.filter((call) => call.arguments[0].includes('FROM tags WHERE'))
  const entries = read.reduce((sum, call) => sum + (call.result?.length ?? 0), 0)
  assert.ok(entries >= 1000 && entries < 4000, `${entries} entries`)
})

/** Rows that one step of a list or a count may read, of tags, entries and plants together. */
const MOST_OF_A_STEP = 12_000

test('a prefix of many distinct tags is read in steps, and a page of it reads few of them', (t) => {
  const genus = (i: number) => (i % 3 === 0 ? 'Rosa' : 'Acer')
  const plants = Array.from({ length: 30_000 }, (_, i) => plant(BigInt(i), `${genus(i)} alba ${i}`, `acc/${i}`))
  const reader = readerOf(t, filled(t, plants))
  const got = t.mock.method(StatementCache.prototype, 'get').mock
  const listed = t.mock.method(StatementCache.prototype, 'all').mock
  /** Runs a task. @returns the rows that its statements read or count in a step at most, and all together */
  const rowsOf = (task: Task<unknown>) => {
    const steps: number[] = []
    for (let isDone = false; !isDone; ) {
      for (const mock of [got, listed]) mock.resetCalls()
      isDone = task.next().done === true
      const counts = got.calls.filter((call) => call.arguments[0].includes(', count(*)'))
      const counted = counts.reduce((sum, { result }) => sum + Number(result?.[1]), 0)
      steps.push(listed.calls.reduce((sum, { result }) => sum + (result?.length ?? 0), counted))
    }
    return { most: Math.max(...steps), all: steps.reduce((sum, rows) => sum + rows, 0) }
  }
  const filter = { tags: [], tagPrefix: 'acc/', words: [] }
  for (const order of PLANT_ORDERS) {
    for (const words of [[], ['rosa'], ['rosa', 'alba'], ['none']]) {
      const { most, all } = rowsOf(reader.listPlants({ ...filter, words, order, after: undefined }, 100, false))
      const label = `${order} ${words}: ${most} rows in a step, ${all} in all`
      assert.ok(most <= MOST_OF_A_STEP && all < 2 * plants.length, label)
    }
    const few = { ...filter, tagPrefix: 'acc/29', order, after: undefined }
    const { all } = rowsOf(reader.listPlants(few, 100, false))
    assert.ok(all < 4000, `${all} rows for the plants of some tags, ${order}`)
  }
  // Each tag is one plant's, whose name has other words, so a word of few tags finds few plants.
  for (const [query, bound] of [
    [{ prefix: 'acc/29' }, 600],
    [{ after: 'acc/29' }, 600],
    [{ words: ['29999'] }, 1500],
    [{ prefix: 'acc/', words: ['alba'] }, 3 * plants.length],
  ] as const) {
    const { most, all } = rowsOf(reader.listTags(query, 100, false))
    assert.ok(most <= 1000 && all <= bound, `${JSON.stringify(query)}: ${most} rows in a step, ${all} in all`)
  }
  const { most, all } = rowsOf(reader.countMatches(filter, 1, false))
  assert.ok(most <= MOST_OF_A_STEP && all >= plants.length, `a count reads ${most} rows in a step`)
})
