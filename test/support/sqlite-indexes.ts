import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { matches, sortKey } from '../../src/domain/plant-query.ts'
import { type IndexProgress, indexPath, monotonicTime } from '../../src/sqlite/indexed.ts'
import { Indexer } from '../../src/sqlite/search-index/indexer.ts'
import { nameStart } from '../../src/sqlite/search-index/name-index.ts'
import { UNTAGGED } from '../../src/sqlite/search-index/plant-index.ts'
import type { Follower, FollowerEvents, StartFollower } from '../../src/sqlite/search-index/search-index.ts'
import { expectedTags } from './expected.ts'
import { plantsIn } from './files.ts'
import { storeAt } from './open-sqlite.ts'
import { listAll } from './store-calls.ts'

/** Reads a file of SQLite without the store. It leaves the log of a crash, which the last writer to close removes. */
export const fromFile = <T>(path: string, work: (db: DatabaseSync) => T): T => inFile(path, work, { readOnly: true })

/** Opens a file of SQLite without the store, for the time of `work`. */
export function inFile<T>(path: string, work: (db: DatabaseSync) => T, options: { readOnly?: boolean } = {}): T {
  const db = new DatabaseSync(path, { readBigInts: true, timeout: 10_000, defensive: false, ...options })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Brings the index of a store up to date. @returns the progress of each step */
export function indexAll(path: string, bounds?: ConstructorParameters<typeof Indexer>[1]): IndexProgress[] {
  const indexer = new Indexer(path, bounds)
  const steps: IndexProgress[] = []
  try {
    do steps.push(indexer.step())
    while (steps.at(-1)?.isDone === false)
    return steps
  } finally {
    indexer.close()
  }
}

/** An index that only the test updates. */
export const IDLE: Follower = {
  remote: { wake: async () => {}, rebuild: async () => {}, giveSpace: async () => {}, restartWal: async () => {} },
  close: async () => {},
}

/** An index that takes a step when the test calls `step`, and reports it to the store. */
export function steppedIndex(bounds?: ConstructorParameters<typeof Indexer>[1]): {
  readonly start: StartFollower
  readonly step: () => IndexProgress
} {
  let indexer: Indexer | undefined
  let open: { path: string; events: FollowerEvents } | undefined
  return {
    start: (path, events) => {
      open = { path, events }
      return { ...IDLE, close: async () => indexer?.close() }
    },
    step: () => {
      assert.ok(open)
      indexer ??= new Indexer(open.path, bounds)
      const startedAt = monotonicTime()
      const progress = indexer.step()
      open.events.onProgress({ progress, startedAt })
      return progress
    },
  }
}

/** Counts the changes that the index lacks: all of them if there is no index, or while it is being built. */
export function behind(path: string): number {
  const head = fromFile(path, (db) => Number(db.prepare('SELECT max(position) AS n FROM changes').get()?.['n'] ?? 0))
  const at = (db: DatabaseSync) =>
    Number(db.prepare('SELECT position AS n FROM state WHERE NOT is_scanning').get()?.['n'] ?? 0)
  return head - fromFile(indexPath(path), at)
}

/** Checks that the index contains exactly the plants. */
export function assertIndexMatches(path: string): void {
  const plants = plantsIn(path)
  inFile(indexPath(path), (db) => {
    const rows = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row))
    const sorted = (all: unknown[][]) => all.map(String).sort()
    const tagged = [...plants].map(([id, { tag }]) => [tag ?? UNTAGGED, id])
    const wanted = sorted([...plants].map(([id, { name }]) => [sortKey(name), id]))
    assert.deepEqual(sorted(rows('SELECT key, id FROM names UNION ALL SELECT key, id FROM recent_names')), wanted)
    assert.deepEqual(rows('SELECT run FROM recent_names WHERE run >= 8'), [], 'names of a scan, which no search finds')
    assert.deepEqual(
      sorted(rows('SELECT start, id FROM name_starts')),
      sorted([...plants].map(([id, { name }]) => [nameStart(sortKey(name)), id])),
    )
    assert.deepEqual(sorted(rows('SELECT tag, id FROM tags')), sorted(tagged))
    assert.deepEqual(rows('SELECT tag, plants FROM tag_counts'), rows('SELECT tag, count(*) FROM tags GROUP BY tag'))
    assert.deepEqual(
      rows('SELECT rowid FROM words ORDER BY rowid').flat(),
      [...plants.keys()].sort((a, b) => (a < b ? -1 : 1)),
    )
    db.exec("INSERT INTO words (words) VALUES ('integrity-check')")
  })
}

/** Checks that searches find every plant by its words and its tag in any state of the index. Then updates the index. */
export async function assertSearchable(storePath: string): Promise<void> {
  const plants = plantsIn(storePath)
  const store = await storeAt(storePath, { create: false, startFollower: () => IDLE })
  try {
    const byWord = await listAll(store, { words: ['plant'], order: 'name' })
    assert.deepEqual(new Map(byWord.map(({ id, name, tag }) => [id, { name, tag }])), plants)
    assert.deepEqual(await store.listTags({}, 100), expectedTags(byWord))
    const prefix = byWord.find(({ tag = '' }) => tag !== '')?.tag?.slice(0, 1) ?? 'x'
    for (const part of [{}, { untagged: true }, { tagPrefix: prefix }]) {
      const filter = { tags: [], words: [], ...part }
      assert.equal(await store.countMatches(filter, 1), byWord.filter((one) => matches(filter, one)).length)
    }
  } finally {
    await store.close()
  }
  indexAll(storePath)
  assertIndexMatches(storePath)
}
