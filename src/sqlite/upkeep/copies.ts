import { isUtf8 } from 'node:buffer'
import {
  existsSync,
  linkSync,
  lstatSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isFileOfStore, makeDraft, removeAbandonedDrafts, syncDirectory, takeLock } from '../../base/files.ts'
import { plainSql } from '../../base/migrations.ts'
import { OperatorError, usageError } from '../../base/operator-error.ts'
import { shown } from '../../base/printable.ts'
import { faultOf, MAX_NAME, MAX_TAG } from '../../domain/plant.ts'
import type { Counts } from '../../domain/upkeep.ts'
import { openExclusive } from '../connection.ts'
import { sqliteFault } from '../errors.ts'
import { indexPath } from '../indexed.ts'
import { mustBeAlone } from '../open/preflight.ts'
import { isSameFile, lockOf, makeSchema, schemaOf } from '../open/prepare-file.ts'
import { plantOf, StatementCache } from '../rows.ts'
import { endCheckpoint, renewEpoch } from '../wal/epoch.ts'
import { transaction } from '../wal/transaction.ts'
import { judgeWal } from '../wal/wal-ownership.ts'

/**
 * Writes a database file as a draft beside `path`, which only its owner may read (mode 0600). `make` leaves it complete
 * and on stable storage, and `name` then gives it its name. Nothing of it is left when one throws or the process exits.
 */
export async function throughDraft<T>(
  path: string,
  make: (draft: string) => Promise<T>,
  name: (draft: string) => void,
): Promise<T> {
  let made: T
  {
    using draft = makeDraft(path)
    made = await make(draft.path)
    name(draft.path)
  }
  syncDirectory(dirname(path))
  return made
}

/**
 * Opens a copy of a store that no other connection has open, and gives it its own epoch, so that the program refuses the
 * WAL of the original beside it. This commit syncs the whole file. Leaves the copy as one file, without a WAL.
 */
export function inCopy<T>(path: string, work: (db: DatabaseSync) => T): T {
  // An absolute path keeps SQLite from giving names like `:memory:` a special meaning.
  using db = new DatabaseSync(resolve(path), { readBigInts: true })
  db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA journal_mode = DELETE')
  db.exec('PRAGMA synchronous = FULL')
  const result = work(db)
  transaction(db, () => renewEpoch(db))
  return result
}

/** Checks every page, and compares every index of a file with its table. Returns up to `max` faults. */
export function faultsIn(db: DatabaseSync, max: number): string[] {
  const rows = db.prepare(`PRAGMA integrity_check(${max})`).all()
  return rows.map((row) => String(row['integrity_check'])).filter((found) => found !== 'ok')
}

/** Names the first plants that break the rule for plants (src/domain/plant.ts), as another program may write them. */
export function refusedPlants(db: DatabaseSync, max: number): string[] {
  // length() counts up to the first U+0000 (https://sqlite.org/lang_corefunc.html#length).
  const wrong = `SELECT id, name, tag FROM plants WHERE length(name) > ? OR length(tag) > ?
    OR instr(name, char(0)) > 0 OR instr(tag, char(0)) > 0 OR ${NOT_UTF8('name')} OR ${NOT_UTF8('tag')}
    ORDER BY id LIMIT ?`
  // SQLite stores any bytes as a text, and Node.js reads those that are no UTF-8 as U+FFFD.
  db.function('is_utf8', { deterministic: true }, (bytes) => (isUtf8(bytes as Uint8Array) ? 1 : 0))
  const plants = new StatementCache(db).all(wrong, MAX_NAME, MAX_TAG, max).map(plantOf)
  return plants.map((plant) => `plant ${plant.id}: ${faultOf(plant)?.message ?? 'its text is not UTF-8'}`)
}

/** Calls the function for texts that are not ASCII alone. */
const NOT_UTF8 = (column: 'name' | 'tag'): string =>
  `${column} GLOB '*[^' || char(1) || '-' || char(127) || ']*' AND NOT is_utf8(CAST(${column} AS BLOB))`

/** Characters of a text of SQL beyond which it is not compared. Those of this program have a fraction. */
const MAX_SQL = 16_384

/**
 * Names what a store has besides, or in place of, what the migrations of this program make, and what it lacks. A trigger
 * in a file could keep tokens from being revoked or delete plants, and a view could stand for a table.
 *
 * @param db at a schema that this program knows
 */
export function foreignParts(db: DatabaseSync, max: number): string[] {
  const { applied } = schemaOf(db)
  using fresh = new DatabaseSync(':memory:')
  if (applied > 0) makeSchema(fresh, applied)
  const [found, made] = [partsOf(db), partsOf(fresh)]
  const faults = [...found].flatMap(([name, sql]) => {
    if (!made.has(name)) return [`it has ${name}, which this program does not make`]
    return sql === made.get(name) ? [] : [`${name} is not as this program makes it`]
  })
  const missing = [...made.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`)
  return [...missing, ...faults].slice(0, max)
}

/** The tables, indexes, views and triggers of a database, with their SQL; an index that a table implies has none. */
function partsOf(db: DatabaseSync): Map<string, string> {
  const rows = db.prepare(`SELECT type, name, tbl_name, substr(sql, 1, ${MAX_SQL}) AS sql FROM sqlite_schema`).all()
  return new Map(
    rows.map(({ type, name, tbl_name: table, sql }) => {
      const ofTable = type === 'table' ? '' : ` of ${shown(String(table))}`
      return [`the ${String(type)} ${shown(String(name))}${ofTable}`, sql === null ? '' : plainSql(String(sql))]
    }),
  )
}

export const countsIn = (db: DatabaseSync): Counts => ({ plants: count(db, 'plants'), tokens: count(db, 'tokens') })

const count = (db: DatabaseSync, table: 'plants' | 'tokens'): number =>
  Number(db.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.['count'])

/** Returns the path of a new backup. @throws OperatorError (exit code 2) when the store can't be backed up there */
export function backupTarget(file: string, storePath: string): string {
  if (file === '-') throw usageError(file, 'a backup can not go to standard output; name a file')
  const folder = dirname(file)
  if (!existsSync(folder)) throw usageError(file, `the folder ${folder} does not exist; create it first`)
  if (!statSync(folder).isDirectory()) throw usageError(file, `${folder} is not a folder`)
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true) throw usageError(file, 'it is a symbolic link; name the file itself')
  if (stat?.isDirectory() === true) throw usageError(file, 'it is a folder; name a new file in it')
  const target = join(realpathSync(folder), basename(file))
  const store = join(realpathSync(dirname(storePath)), basename(storePath))
  if (target === store) throw usageError(file, 'it is the store itself; name a new file')
  if (isFileOfStore(target, store))
    throw usageError(file, 'the store uses this name for one of its own files; choose another one')
  if (stat !== undefined) throw taken(file)
  return target
}

/** The fault of a file that exists, with the exit code of `plantstore export` and `restore`. */
export const taken = (file: string): OperatorError =>
  new OperatorError(`${file}: it already exists; a backup replaces no file`)

/** Refuses a copy that does not fit on its disk: it would take the last space of a store there. */
export function mustHaveRoom(target: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(target))
  if (bavail * bsize >= bytes) return
  throw new OperatorError(
    `${target}: no space is left on the device: the copy takes ${mebibytes(bytes)}, and ${mebibytes(bavail * bsize)} are free`,
  )
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** The suffixes of the files that may hold commits of a store. */
const DATA = ['', '-wal', '-journal']

const REPLACED = '.replaced-'

/** @throws OperatorError when the path has a store, or a WAL or journal of a missing one */
export function mustBeEmpty(path: string): void {
  if (existsSync(path)) throw existing(path)
  mustBeAlone(path, '--replace keeps them under another name')
}

export const existing = (path: string): OperatorError =>
  new OperatorError(`store ${path}: it exists; --replace replaces it, and keeps it under another name`)

/** Checkpoints the WAL of a store before its replacement. It leaves a WAL of another store alone. */
export function mustBeUnused(path: string): void {
  if (!existsSync(path)) return
  try {
    // The pages of another store's WAL would damage this store.
    if (judgeWal(path) !== 'own') return
    const db = openExclusive(path)
    if (db === undefined) throw new OperatorError(`store ${path}: another process has it open; stop that process first`)
    endCheckpoint(db)
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
  const isInterrupted = (kept: string) => DATA.some((suffix) => isSame(path, kept, suffix))
  if (!replacedNames(path).some(isInterrupted)) return
  const lock = takeLock(lockOf(path))
  // A restore under way holds the lock.
  if (lock === undefined) return
  try {
    for (const kept of replacedNames(path).filter(isInterrupted)) {
      if (existsSync(path) && !isSame(path, kept, '')) removeReplaced(path)
      // The file goes last: it shows the interruption.
      else for (const suffix of DATA.toReversed()) if (isSame(path, kept, suffix)) rmSync(kept + suffix)
    }
    syncDirectory(folder)
  } finally {
    lock.undo()
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

function isSame(path: string, other: string, suffix: string): boolean {
  const [one, two] = [path, other].map((name) => statSync(name + suffix, { throwIfNoEntry: false }))
  return one !== undefined && isSameFile(one, two)
}

function nameForReplaced(path: string): string {
  const name = `${path}${REPLACED}${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`
  const isTaken = (candidate: string) => DATA.some((suffix) => existsSync(candidate + suffix))
  let free = name
  for (let i = 2; isTaken(free); i++) free = `${name}-${i}`
  return free
}
