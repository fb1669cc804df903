import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../../operator-error.ts'
import { openAlone } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { syncDirectory } from '../open/sync-directory.ts'
import { indexPath } from '../search-index/index-file.ts'
import { judgeLog } from '../wal/log-match.ts'

/** The suffixes of the files that may hold commits of a store. */
const DATA = ['', '-wal', '-journal']

/** @throws OperatorError when a store, or a part of one, exists already */
export function mustBeEmpty(path: string): void {
  const found = [...DATA, '-shm'].map((suffix) => path + suffix).filter((name) => existsSync(name))
  if (found.length === 0) return
  throw new OperatorError(
    found[0] === path
      ? `store ${path}: it exists; --replace keeps it under another name`
      : `store ${path}: the file is missing, but ${found.join(' and ')} may hold its newest plants; --replace keeps what is there under another name`,
  )
}

/**
 * Folds the log of a store that is to be replaced into it, where it is its own.
 *
 * @throws OperatorError when a process has it open
 */
export function mustBeUnused(path: string): void {
  if (!existsSync(path)) return
  try {
    // The pages of a log that is not its own would damage it.
    if (judgeLog(path) !== 'own') return
    const db = openAlone(path)
    if (db === undefined) throw new OperatorError(`store ${path}: another process has it open; stop that one first`)
    db.close()
  } catch (error) {
    // A damaged store may be replaced, and stays as it is.
    if (sqliteFault(error) === undefined) throw error
  }
}

/**
 * Puts the new store in the place of the present one. Whenever it is interrupted, either of the two is there, or the
 * next start says what is in its way: the log of the old store, or its second name.
 *
 * @returns the new name of the present store; undefined where there was none
 */
export function keepAside(draft: string, path: string): string | undefined {
  const kept = keptName(path)
  const present = DATA.filter((suffix) => existsSync(path + suffix))
  for (const suffix of present) linkSync(path + suffix, kept + suffix)
  syncDirectory(dirname(path))
  renameSync(draft, path)
  const index = indexPath(path)
  const gone = ['-wal', '-journal', '-shm'].map((suffix) => path + suffix)
  for (const name of [...gone, index, `${index}-wal`, `${index}-shm`]) rmSync(name, { force: true })
  return present.length > 0 ? kept : undefined
}

function keptName(path: string): string {
  const name = `${path}.replaced-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const isTaken = (each: string) => DATA.some((suffix) => existsSync(each + suffix))
  let free = name
  for (let i = 2; isTaken(free); i++) free = `${name}-${i}`
  return free
}
