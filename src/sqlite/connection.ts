import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { isBusy } from './errors.ts'

/** The `PRAGMA application_id` of a plant store: the bytes "PLNT". */
export const APPLICATION_ID = 0x504c4e54
/** The `PRAGMA application_id` of a search index: the bytes "PLNI". */
export const INDEX_APPLICATION_ID = 0x504c4e49

/** Milliseconds that a connection waits while another process writes. */
export const BUSY_TIMEOUT = 10_000

export interface WriterOptions {
  /** The connection fails at once while another one writes, and never checkpoints: both would block the event loop. */
  readonly forEventLoop?: boolean
}

/**
 * Opens a connection that reads. It sees every commit, and never waits for a writer (https://sqlite.org/wal.html). Where
 * no process has the file open, the connection makes a WAL, which a read-only one could not remove at its end.
 */
export function openReader(path: string): DatabaseSync {
  const mode = existsSync(`${path}-wal`) ? 'ro' : 'rw'
  return open(path, { mode }, (db) => {
    if (mode === 'rw') db.exec('PRAGMA query_only = ON')
  })
}

/**
 * Opens a connection that writes. A commit returns after its fsync (WAL with synchronous=FULL). Only `WalCheckpointer`
 * checkpoints the WAL.
 *
 * Run BEGIN, COMMIT and PRAGMA by `exec()`: it reports no row count, so it can't fail on a large rowid.
 */
export function openWriter(path: string, { forEventLoop = false }: WriterOptions = {}): DatabaseSync {
  return open(path, forEventLoop ? { timeout: 0 } : {}, (db) => {
    makeDurable(db)
    // In KiB. Each write of the thread discards the cached pages of the event loop, which writes only small groups.
    db.exec(`PRAGMA cache_size = -${forEventLoop ? 2048 : 8192}`)
  })
}

/**
 * Opens a connection that locks out all others (locking_mode=EXCLUSIVE). It needs no WAL-index on the disk.
 *
 * @returns undefined when another connection has the file open, under any name
 */
export function openExclusive(path: string): DatabaseSync | undefined {
  try {
    return open(path, { timeout: 0 }, (db) => {
      db.exec('PRAGMA locking_mode = EXCLUSIVE')
      makeDurable(db)
    })
  } catch (error) {
    if (isBusy(error)) return undefined
    throw error
  }
}

/**
 * Opens a connection that writes to a file that can be rebuilt, and makes an absent one. A commit does not wait for the disk (WAL with
 * synchronous=NORMAL). It survives the end of the process, but a power cut may undo the last commits.
 */
export function openDerivedWriter(path: string): DatabaseSync {
  return open(path, { mode: 'rwc', timeout: 1000 }, (db) => {
    // SQLite applies page_size only to a new file. Pages of 8 KiB double the bytes that each delete writes.
    db.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
    db.exec('PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 4000')
  })
}

function makeDurable(db: DatabaseSync): void {
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0')
  const { synchronous } = db.prepare('PRAGMA synchronous').get() as { synchronous: bigint }
  const { journal_mode } = db.prepare('PRAGMA journal_mode').get() as { journal_mode: string }
  if (synchronous !== 2n || journal_mode !== 'wal') throw new Error('SQLite does not keep to WAL with synchronous=FULL')
}

/** Opens a file that is there: a store that was moved away while it was in use must leave no empty one at its place. */
function open(
  path: string,
  { mode = 'rw', timeout = BUSY_TIMEOUT }: { mode?: 'ro' | 'rw' | 'rwc'; timeout?: number },
  prepare: (db: DatabaseSync) => void,
): DatabaseSync {
  const file = pathToFileURL(path)
  file.searchParams.set('mode', mode)
  const db = new DatabaseSync(file, { timeout, readBigInts: true })
  try {
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON')
    prepare(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
