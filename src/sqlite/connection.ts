import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy, sqliteFault } from './errors.ts'

/** Marks a database file as a plant store (`PRAGMA application_id`): the bytes "PLNT". */
export const APPLICATION_ID = 0x504c4e54
/** The same for its search index: the bytes "PLNI". */
export const INDEX_APPLICATION_ID = 0x504c4e49

/** Milliseconds that a connection waits while another process writes. */
export const BUSY_TIMEOUT = 10_000

export interface WriterOptions {
  /** Neither waits for another writer nor copies the log into the file: for the event loop. */
  readonly isHasty?: boolean
}

/** Reads only. Sees every committed write, never waits for a writer (https://sqlite.org/wal.html). */
export function openReader(path: string): DatabaseSync {
  return open(path, { readOnly: true }, () => {})
}

/**
 * Reads and writes. A commit returns after its fsync (WAL with synchronous=FULL). Only `LogKeeper` copies the log into
 * the file.
 *
 * BEGIN, COMMIT and PRAGMA run by `exec()`, which reports no row count and so can't fail on a large rowid.
 */
export function openWriter(path: string, { isHasty = false }: WriterOptions = {}): DatabaseSync {
  return open(path, isHasty ? { timeout: 0 } : {}, (db) => {
    makeDurable(db)
    // In KiB. A hasty connection loses its pages with each write of the other one, and writes only small groups.
    db.exec(`PRAGMA cache_size = -${isHasty ? 4096 : 16_384}`)
  })
}

/**
 * A writer that has the file alone. It needs no index of the log.
 *
 * @returns undefined when another connection has the file open, under any name
 */
export function openAlone(path: string): DatabaseSync | undefined {
  try {
    return open(path, { timeout: 0 }, (db) => {
      db.exec('PRAGMA locking_mode = EXCLUSIVE')
      makeDurable(db)
    })
  } catch (error) {
    const fault = sqliteFault(error)
    if (fault !== undefined && isBusy(fault)) return undefined
    throw error
  }
}

/**
 * Reads and writes a file that can be rebuilt. A commit does not wait for the disk (WAL with synchronous=NORMAL): it
 * survives the end of the process, and after a power cut the file has the state of an earlier commit.
 */
export function openDerivedWriter(path: string): DatabaseSync {
  return open(path, { timeout: 1000 }, (db) => {
    // The size of a page counts only where the file is new.
    db.exec('PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    db.exec('PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 2000')
  })
}

function makeDurable(db: DatabaseSync): void {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  const { synchronous } = db.prepare('PRAGMA synchronous').get() as { synchronous: bigint }
  const { journal_mode } = db.prepare('PRAGMA journal_mode').get() as { journal_mode: string }
  if (synchronous !== 2n || journal_mode !== 'wal') throw new Error('SQLite does not keep to WAL with synchronous=FULL')
}

function open(
  path: string,
  options: { readOnly?: boolean; timeout?: number },
  prepare: (db: DatabaseSync) => void,
): DatabaseSync {
  // An absolute path keeps SQLite from giving `:memory:` and `file:…` their special meaning.
  const db = new DatabaseSync(resolve(path), { timeout: BUSY_TIMEOUT, ...options, readBigInts: true })
  try {
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
    prepare(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** Runs `work` in one write transaction; a throw undoes it. Returns after the commit is on stable storage. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite itself rolls the transaction back on some errors, such as a full disk.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
