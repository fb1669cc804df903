import { closeSync, existsSync, openSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../operator-error.ts'
import { sqliteFault } from './errors.ts'

const BUSY = 5
/** Milliseconds; whoever only looks whether the lock is held has it for less than one. */
const PATIENCE = 50

/**
 * Held while a server serves a store, so that no second one does. It is SQLite's own lock on an empty file beside the
 * store: the operating system lets go of it however the process ends, and commands that administer the store don't
 * take it, so they work meanwhile.
 *
 * @returns lets go of it; calling it again does nothing
 * @throws OperatorError when another server holds it
 */
export function takeServeLock(path: string): () => void {
  const file = resolve(`${path}.lock`)
  // Its owner's alone like the store: whoever could open it could hold the lock and keep every server out.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const lock = new DatabaseSync(file, { timeout: PATIENCE })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (sqliteFault(error)?.errcode !== BUSY) throw error
    throw new OperatorError(`store ${path}: another server serves it already; stop that one first`)
  }
  return () => {
    if (lock.isOpen) lock.close()
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
