import { existsSync, linkSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../../new-file.ts'
import { OperatorError } from '../../operator-error.ts'
import { openExclusive } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { indexPath } from '../search-index/index-file.ts'
import { judgeLog } from '../wal/log-match.ts'

/** The suffixes of the files that may hold commits of a store. */
const DATA = ['', '-wal', '-journal']

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
 * path has one of the two stores. The next start may then refuse it, and names the leftover file: a WAL of the present
 * store, or its second name.
 *
 * @returns the new name of the present store; undefined when there was none
 */
export function replaceStore(draft: string, path: string): string | undefined {
  const kept = nameForReplaced(path)
  const present = DATA.filter((suffix) => existsSync(path + suffix))
  for (const suffix of present) linkSync(path + suffix, kept + suffix)
  syncDirectory(dirname(path))
  renameSync(draft, path)
  const index = indexPath(path)
  const gone = ['-wal', '-journal', '-shm'].map((suffix) => path + suffix)
  for (const name of [...gone, index, `${index}-wal`, `${index}-shm`]) rmSync(name, { force: true })
  return present.length > 0 ? kept : undefined
}

function nameForReplaced(path: string): string {
  const name = `${path}.replaced-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const isTaken = (candidate: string) => DATA.some((suffix) => existsSync(candidate + suffix))
  let free = name
  for (let i = 2; isTaken(free); i++) free = `${name}-${i}`
  return free
}
