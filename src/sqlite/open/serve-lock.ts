import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../operator-error.ts'
import { sqliteFault } from '../errors.ts'

const BUSY = 5
/** Milliseconds; whoever only looks whether the lock is held has it for less than one. */
const PATIENCE = 50

export interface ServeLock {
  /** Lets go of it; calling it again does nothing. */
  release(): void
  /** Lets go of it, and leaves no file behind that was not there before. */
  undo(): void
}

/**
 * Held while a server serves a store, so that no second one does. It is SQLite's own lock on an empty file beside the
 * store: the operating system lets go of it however the process ends, and commands that administer the store don't
 * take it, so they work meanwhile.
 *
 * @throws OperatorError when another server holds it
 */
export function takeServeLock(path: string): ServeLock {
  const file = resolve(`${path}.lock`)
  for (;;) {
    const isNew = !existsSync(file)
    // Its owner's alone like the store: whoever could open it could hold the lock and keep every server out.
    if (isNew) closeSync(openSync(file, 'a', 0o600))
    const before = statSync(file, { throwIfNoEntry: false })
    const lock = lockFile(file, path)
    const release = () => {
      if (lock.isOpen) lock.close()
    }
    const undo = () => {
      // Only its holder removes it, so that two never hold two files of this name.
      if (isNew && lock.isOpen) rmSync(file, { force: true })
      release()
    }
    if (before !== undefined && statSync(file, { throwIfNoEntry: false })?.ino === before.ino) return { release, undo }
    // Its holder has removed it, so this is the lock of a file that nobody else can find.
    release()
  }
}

function lockFile(file: string, path: string): DatabaseSync {
  const lock = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    // The lock alone, without a journal, for which a full disk has no space.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    if (sqliteFault(error)?.errcode !== BUSY) throw error
    throw new OperatorError(`store ${path}: another service already serves it; stop that one first`)
  }
}

/** Whether a server, in another process than this one, serves the store now. */
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
