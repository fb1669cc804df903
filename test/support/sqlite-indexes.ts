import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { sortKey } from '../../src/fold.ts'
import { plantsIn } from './files.ts'

/** Looks into the file past the store. */
export function inFile<T>(path: string, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { readBigInts: true, timeout: 10_000, defensive: false })
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Ids that are to be indexed; one may be there more than once. */
export const backlog = (path: string): number =>
  inFile(path, (db) =>
    Number(db.prepare('SELECT coalesce(sum(length(ids)), 0) / 8 AS n FROM plant_journal').get()?.['n']),
  )

/** Holds all indexes against the plants. */
export function assertIndexesMatch(path: string): void {
  const plants = plantsIn(path)
  inFile(path, (db) => {
    const rows = (sql: string) =>
      db
        .prepare(sql)
        .all()
        .map((row) => Object.values(row))
    const sorted = (all: unknown[][]) => all.map(String).sort()
    const tagged = [...plants].flatMap(([id, { tag }]) => (tag === undefined ? [] : [[tag, id]]))
    assert.deepEqual(
      sorted(rows('SELECT key, id FROM plant_names')),
      sorted([...plants].map(([id, { name }]) => [sortKey(name), id])),
    )
    assert.deepEqual(sorted(rows('SELECT tag, id FROM plant_tags')), sorted(tagged))
    assert.deepEqual(
      rows('SELECT tag, plants FROM tag_counts'),
      rows('SELECT tag, count(*) FROM plants WHERE tag IS NOT NULL GROUP BY tag'),
    )
    assert.deepEqual(rows('SELECT rowid FROM plant_words ORDER BY rowid'), rows('SELECT id FROM plants ORDER BY id'))
    db.exec("INSERT INTO plant_words (plant_words) VALUES ('integrity-check')")
  })
}
