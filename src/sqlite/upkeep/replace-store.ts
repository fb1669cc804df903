import { existsSync, linkSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { takeLock } from '../../base/file-lock.ts'
import { removeAbandonedDrafts, syncDirectory } from '../../base/new-file.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { openExclusive } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { lockOf, undoServeLock } from '../open/serve-lock.ts'
import { indexPath } from '../search-index/index-file.ts'
import { judgeLog } from '../wal/log-match.ts'

/** The suffixes of the files that may hold commits of a store. */
const DATA = ['', '-wal', '-journal']

/** The part before the time in the name of a replaced store. */
const REPLACED = '.replaced-'

/** @throws OperatorError when the path has a store, or a WAL or journal of a missing one */
export function mustBeEmpty(path: string): void {
  const found = [...DATA, '-shm'].map((suffix) => path + suffix).filter((name) => existsSync(name))
  if (found.length === 0) return
  throw new OperatorError(
    found[0] === path
      ? `store ${path}: it exists; --replace replaces it, and keeps it under another name`
      : `store ${path}: the file is missing, but ${found.join(' and ')} may hold its newest plants; --replace keeps them under another name`,
  )
}

/**
 * Checkpoints the WAL of a store before its replacement. It leaves a WAL of another store alone.
 *
 * @throws OperatorError when another process has the store open
 */
export function mustBeUnused(path: string): void {
  if (!existsSync(path)) return
  try {
    // The pages of another store's WAL would damage this store.
    if (judgeLog(path) !== 'own') return
    const db = openExclusive(path)
    if (db === undefined) throw new OperatorError(`store ${path}: another process has it open; stop that process first`)
    db.close()
  } catch (error) {
    // An operator may replace a damaged store, which stays unchanged.
    if (sqliteFault(error) === undefined) throw error
  }
}

/**
 * Replaces the present store by the draft, and keeps the present one under another name. After an interruption, the
 * path has one of the two stores, and `mendReplacement` does the rest.
 *
 * @returns the new name of the present store; undefined when there was none
 */
export function replaceStore(draft: string, path: string): string | undefined {
  const kept = nameForReplaced(path)
  const present = DATA.filter((suffix) => existsSync(path + suffix))
  for (const suffix of present) linkSync(path + suffix, kept + suffix)
  syncDirectory(dirname(path))
  renameSync(draft, path)
  removeReplaced(path)
  return present.length > 0 ? kept : undefined
}

/**
 * Ends a replacement that was interrupted, and removes the drafts of processes that have ended. Before the new store had
 * its name, the links to the present one go; after that, what is left of the replaced one does. Call it before this
 * process opens the store.
 */
export function mendReplacement(path: string): void {
  const folder = dirname(path)
  if (!existsSync(folder)) return
  removeAbandonedDrafts(folder)
  const interrupted = () => replacedNames(path).filter((kept) => DATA.some((suffix) => isSame(path, kept, suffix)))
  if (interrupted().length === 0) return
  const lock = takeLock(lockOf(path))
  // A restore under way holds the lock.
  if (lock === undefined) return
  try {
    for (const kept of interrupted()) {
      if (existsSync(path) && !isSame(path, kept, '')) removeReplaced(path)
      // The file goes last: it shows the interruption.
      else for (const suffix of DATA.toReversed()) if (isSame(path, kept, suffix)) rmSync(kept + suffix)
    }
    syncDirectory(folder)
  } finally {
    undoServeLock(lock)
  }
}

/** Removes what SQLite and the index have of the replaced store. The files that also have its new name go last. */
function removeReplaced(path: string): void {
  const index = indexPath(path)
  const derived = [index, `${index}-wal`, `${index}-shm`, `${path}-shm`]
  for (const name of [...derived, `${path}-journal`, `${path}-wal`]) rmSync(name, { force: true })
}

/** The names under which replacements have kept, or would have kept, a store. */
function replacedNames(path: string): string[] {
  const start = `${basename(path)}${REPLACED}`
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(start))
  const stores = names.map((name) => name.replace(/-(?:wal|journal)$/, ''))
  return [...new Set(stores)].map((name) => join(dirname(path), name))
}

/** Whether two stores share the file with a suffix. */
function isSame(path: string, other: string, suffix: string): boolean {
  const [one, two] = [path, other].map((name) => statSync(name + suffix, { throwIfNoEntry: false }))
  return one !== undefined && one.ino === two?.ino && one.dev === two.dev
}

function nameForReplaced(path: string): string {
  const name = `${path}${REPLACED}${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const isTaken = (candidate: string) => DATA.some((suffix) => existsSync(candidate + suffix))
  let free = name
  for (let i = 2; isTaken(free); i++) free = `${name}-${i}`
  return free
}
