import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../operator-error.ts'
import { sqliteFault } from '../errors.ts'

const BUSY = 5
/** Milliseconds. `isServed` of another process holds the lock for less than one. */
const BUSY_TIMEOUT = 50

export interface ServeLock {
  /** Releases the lock. Calling it again does nothing. */
  release(): void
  /** Releases the lock, and removes its file if `takeServeLock` has created it. */
  undo(): void
}

/**
 * Keeps a second service away from a store, by SQLite's lock on an empty file beside the store. The operating system
 * releases the lock however the process ends. Commands do not take it, so they work beside a service.
 *
 * @throws OperatorError when another service holds the lock
 */
export function takeServeLock(path: string): ServeLock {
  const file = resolve(`${path}.lock`)
  for (;;) {
    const isNew = !existsSync(file)
    // Only the owner may open the file: a process that opens it could hold the lock, and keep every service out.
    if (isNew) closeSync(openSync(file, 'a', 0o600))
    const before = statSync(file, { throwIfNoEntry: false })
    const lock = lockFile(file, path)
    const release = () => {
      if (lock.isOpen) lock.close()
    }
    const undo = () => {
      // Only the holder of the lock removes the file, so that two processes never hold two files of this name.
      if (isNew && lock.isOpen) rmSync(file, { force: true })
      release()
    }
    if (before !== undefined && statSync(file, { throwIfNoEntry: false })?.ino === before.ino) return { release, undo }
    // The previous holder has removed the file, so no other process would find this lock. Retry.
    release()
  }
}

function lockFile(file: string, path: string): DatabaseSync {
  const lock = new DatabaseSync(file, { timeout: BUSY_TIMEOUT })
  try {
    // A full disk has no space for a journal on the disk.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (sqliteFault(error)?.errcode !== BUSY) throw error
    throw new OperatorError(`store ${path}: another service already serves it; stop that service first`)
  }
}

/** Whether another process serves the store now. */
export function isServed(path: string): boolean {
  const file = resolve(`${path}.lock`)
  if (!existsSync(file)) return false
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.prepare('SELECT 1 FROM sqlite_schema').get()
    return false
  } catch (error) {
    if (sqliteFault(error)?.errcode === BUSY) return true
    throw error
  } finally {
    lock.close()
  }
}
