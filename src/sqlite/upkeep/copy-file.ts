import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { transaction } from '../connection.ts'
import { hasTable } from '../migrate.ts'
import { renewMark } from '../wal/log-mark.ts'

/** The numbers of plants and tokens in a store. */
export interface Counts {
  readonly plants: number
  readonly tokens: number
}

/** Opens a copy of a store that no other connection has open. Leaves the copy as one file, without a WAL beside it. */
export function inCopy<T>(path: string, work: (db: DatabaseSync) => T): T {
  // An absolute path keeps SQLite from giving names like `:memory:` a special meaning.
  const db = new DatabaseSync(resolve(path), { readBigInts: true })
  try {
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA journal_mode = DELETE')
    db.exec('PRAGMA synchronous = FULL')
    return work(db)
  } finally {
    db.close()
  }
}

/**
 * Gives a copy its own mark, so that the program refuses the WAL of the original beside the copy
 * (docs/decisions/0022-logs-and-their-stores.md).
 */
export const giveOwnMark = (db: DatabaseSync): void => transaction(db, () => renewMark(db))

/**
 * Gives a restored store its own identity. A store and its restored copy, which may share a folder for backups, then
 * count their backups apart.
 */
export function giveOwnIdentity(db: DatabaseSync): void {
  if (hasTable(db, 'store_identity')) db.exec('UPDATE store_identity SET identity = randomblob(16)')
}

/** Returns the first fault that SQLite finds in the structure of a file; undefined when it finds none. */
export function firstFault(db: DatabaseSync): string | undefined {
  const found = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']
  return found === 'ok' ? undefined : String(found)
}

export const countsIn = (db: DatabaseSync): Counts => ({ plants: count(db, 'plants'), tokens: count(db, 'tokens') })

function count(db: DatabaseSync, table: 'plants' | 'tokens'): number {
  return hasTable(db, table) ? Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'] ?? 0) : 0
}
