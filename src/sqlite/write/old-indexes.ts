import type { DatabaseSync } from 'node:sqlite'
import type { LogKeeper } from '../wal/log-keeper.ts'

/**
 * Statements that each delete some rows of a table of the old indexes (sql/sqlite/000002.sql). To drop a full table of
 * a large store would block all writes for seconds.
 */
const PARTS = [
  deletion('plant_journal', 'seq', 20),
  deletion('plant_names', 'key, id', 2000),
  deletion('plant_tags', 'tag, id', 2000),
  deletion('tag_counts', 'tag', 2000),
  deletion('plant_words_docsize', 'id', 2000),
  deletion('plant_words_idx', 'segid, term', 2000),
  // FTS5 keeps its own records under the ids up to 10, and needs them for DROP TABLE.
  deletion('plant_words_data', 'id', 200, 'id > 10'),
]

function deletion(table: string, key: string, rows: number, condition = 'TRUE'): string {
  const some = `SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${rows}`
  return `DELETE FROM ${table} WHERE (${key}) IN (${some})`
}

/** Removes a part of the old indexes in one transaction. @returns whether more remains */
export function removeOldIndexes(db: DatabaseSync, keeper: LogKeeper): boolean {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'plant_words'").get() === undefined) return false
  // In defensive mode, SQLite refuses writes to the shadow tables of FTS5 (https://sqlite.org/vtab.html#xshadowname).
  db.enableDefensive(false)
  try {
    return keeper.transaction(() => {
      for (const part of PARTS) if (db.prepare(part).run().changes > 0) return true
      for (const table of ['plant_journal', 'plant_index', 'plant_names', 'plant_tags', 'tag_counts', 'plant_words']) {
        db.exec(`DROP TABLE ${table}`)
      }
      return false
    })
  } finally {
    db.enableDefensive(true)
  }
}
