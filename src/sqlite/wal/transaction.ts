import { rmSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import type { DatabaseSync } from 'node:sqlite'
import { withOpen } from '../../base/files.ts'
import { fullDisk, isWriteFault } from '../errors.ts'
import { sizeOf } from './reserve.ts'

/** Runs `work` in one write transaction. Returns once the commit is on stable storage; rolls back when it throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    db.exec('COMMIT')
    return result
  } catch (error) {
    // SQLite itself rolls the transaction back on some errors, such as a full disk.
    if (db.isTransaction) db.exec('ROLLBACK')
    throw asFull(db, error)
  }
}

/** Bytes of a write that finds out whether there is space. A page of SQLite that did not fit was smaller. */
const PROBE = 2 ** 16
/** Node.js names no code for EDQUOT. */
const NO_SPACE = [constants.errno.ENOSPC, constants.errno.EDQUOT, constants.errno.EFBIG]

/**
 * Returns an error like that of a full disk for a write that failed by a quota, or by a limit of the size of files, and
 * every other error unchanged. SQLite reports the first two like a failing disk, after which only a restart is safe.
 */
export function asFull(db: DatabaseSync, error: unknown): unknown {
  const path = db.isOpen ? db.location() : null
  return isWriteFault(error) && path !== null && hasNoSpace(path) ? fullDisk(error) : error
}

/** Whether a new file beside the store can't become longer than the store and its WAL. */
function hasNoSpace(path: string): boolean {
  const length = Math.max(sizeOf(path), sizeOf(`${path}-wal`))
  const probe = `${path}.probe`
  try {
    return withOpen(probe, 'w', (file) => {
      rmSync(probe)
      return writeSync(file, Buffer.alloc(PROBE), 0, PROBE, length) < PROBE
    })
  } catch (error) {
    return NO_SPACE.includes(-((error as NodeJS.ErrnoException).errno ?? 0))
  }
}
