import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** SQLite's result code when another connection holds the lock (https://sqlite.org/rescode.html#busy). */
const BUSY = 5
/** Milliseconds. `isLocked` of another process holds the lock for less than one. */
const TIMEOUT = 50

export interface FileLock {
  /** Whether `takeLock` has created the file. */
  readonly isNew: boolean
  /** Releases the lock. Calling it again does nothing. */
  release(): void
  /** Removes the file, and releases the lock. Calling it again does nothing. */
  remove(): void
}

/**
 * Takes a lock between processes: SQLite's lock on an empty file, which is created if there is none. The operating
 * system releases the lock however the process ends.
 *
 * @returns undefined when another process, or this one, holds the lock
 */
export function takeLock(path: string): FileLock | undefined {
  const file = resolve(path)
  for (;;) {
    const isNew = !existsSync(file)
    // Only the owner may open the file: a process that opens it could hold the lock, and keep every other one out.
    if (isNew) closeSync(openSync(file, 'a', 0o600))
    const before = statSync(file, { throwIfNoEntry: false })
    const db = lockFile(file)
    if (db === undefined) return undefined
    const release = () => {
      if (db.isOpen) db.close()
    }
    const remove = () => {
      if (!db.isOpen) return
      // Only the holder of the lock removes the file, so that two processes never hold two files of this name. Windows
      // removes no open file.
      if (process.platform === 'win32') release()
      rmSync(file, { force: true })
      release()
    }
    if (before !== undefined && statSync(file, { throwIfNoEntry: false })?.ino === before.ino) {
      return { isNew, release, remove }
    }
    // The previous holder has removed the file, so no other process would find this lock. Retry.
    release()
  }
}

function lockFile(file: string): DatabaseSync | undefined {
  const db = new DatabaseSync(file, { timeout: TIMEOUT })
  try {
    // A full disk has no space for a journal on the disk.
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

/** Whether a process holds the lock now. */
export function isLocked(path: string): boolean {
  const file = resolve(path)
  if (!existsSync(file)) return false
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (isBusy(error)) return true
    throw error
  } finally {
    db.close()
  }
}

const isBusy = (error: unknown): boolean => error instanceof Error && 'errcode' in error && error.errcode === BUSY
