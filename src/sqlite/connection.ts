import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isBusy, sqliteFault } from './errors.ts'

/** Marks a database file as a plant store (`PRAGMA application_id`): the bytes "PLNT". */
export const APPLICATION_ID = 0x504c4e54
/** The same for its search index: the bytes "PLNI". */
export const INDEX_APPLICATION_ID = 0x504c4e49

/** How long a connection waits for another process's write before it gives up, in milliseconds. */
export const BUSY_TIMEOUT = 10_000

export interface WriterOptions {
  /** Neither wait for another writer nor fold the log into the file: for a thread that must not be held up. */
  readonly isHasty?: boolean
}

/** Reads only. Sees every committed write, never waits for a writer (https://sqlite.org/wal.html). */
export function openReader(path: string): DatabaseSync {
  return open(path, { readOnly: true }, () => {})
}

/**
 * Reads and writes; a commit has returned only after its fsync (WAL with synchronous=FULL).
 *
 * BEGIN, COMMIT and PRAGMA go through `exec()`, which never reports a row count and so can't trip over a large rowid. It
 * never folds the log in by itself: `LogKeeper` does.
 */
export function openWriter(path: string, { isHasty = false }: WriterOptions = {}): DatabaseSync {
  return open(path, isHasty ? { timeout: 0 } : {}, (db) => {
    makeDurable(db)
    // In KiB. A hasty one forgets its pages whenever the other has written, and only ever writes small groups.
    db.exec(`PRAGMA cache_size = -${isHasty ? 4096 : 16_384}`)
  })
}

/**
 * A writer that has the file for itself, by whatever name another process may have it open; needs no index of the log.
 *
 * @returns undefined when another connection has it open
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
 * Reads and writes a file that can be made again. A commit does not wait for the disk: it survives the end of the process,
 * and after a power cut the file is as some earlier commit has left it (WAL with synchronous=NORMAL).
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
  // Made absolute, so that `:memory:` and `file:…` are names of files and not SQLite's special words.
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
    // SQLite ends the transaction by itself on some errors, a full disk among them.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}
