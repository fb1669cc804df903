import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { readAsset } from '../../base/assets.ts'
import { INDEX_APPLICATION_ID, openDerivedWriter, transaction } from '../connection.ts'
import type { StatementCache } from '../statement-cache.ts'
import { IndexFault, inIndex } from './index-fault.ts'

const SCHEMA = new URL('../../../sql/sqlite-index.sql', import.meta.url)
/** Raise the number when the schema, src/domain/fold.ts or src/sqlite/search-index/terms.ts changes. */
const VERSION = `7, Unicode ${process.versions['unicode']}`

/** Maximum number of bytes of an index that `checkFile` checks, in 8 ms for each megabyte. */
const MAX_CHECKED = 64 * 2 ** 20

/** The path of a store's index. */
export const indexPath = (storePath: string): string => `${storePath}-index`

/**
 * Identifies the file at a path; undefined when there is none. A connection still reads a removed file, whose inode
 * differs from that of a new file.
 */
export const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino

/** The progress of the index. */
export interface IndexState {
  /** The position in the log of changes up to which the index has all changes. */
  readonly position: number
  /** The mark of the log at the position (ChangeReader.mark). */
  readonly mark: string
  /** Whether a scan of all plants still fills the index. */
  readonly isScanning: boolean
  /** The largest id that the scan has reached; undefined before its first plant. */
  readonly scannedTo: bigint | undefined
  /** The number of plants that the scan has read, and the number of all plants at its start. */
  readonly scanned: number
  readonly plants: number
}

/** @returns undefined when the index belongs to another version of the program or to another store */
export function readState(statements: StatementCache, identity: Uint8Array): IndexState | undefined {
  const row = statements.get(
    `SELECT position, mark, is_scanning, scanned_to, scanned, plants FROM state WHERE version = ? AND store = ?`,
    VERSION,
    identity,
  )
  if (row === undefined) return undefined
  const { 0: position, 1: mark, 2: isScanning, 3: scannedTo, 4: scanned, 5: plants } = row
  return {
    position: Number(position),
    mark: mark as string,
    isScanning: isScanning === 1n,
    scannedTo: (scannedTo as bigint | null) ?? undefined,
    scanned: Number(scanned),
    plants: Number(plants),
  }
}

/** An SQL condition for the plants that a scan has not reached. */
export const idsAfter = (scannedTo: bigint | undefined): { condition: string; values: bigint[] } =>
  scannedTo === undefined ? { condition: 'TRUE', values: [] } : { condition: 'id > ?', values: [scannedTo] }

export function writeState(statements: StatementCache, state: IndexState): void {
  statements.run(
    'UPDATE state SET position = ?, mark = ?, is_scanning = ?, scanned_to = ?, scanned = ?, plants = ?',
    state.position,
    state.mark,
    state.isScanning ? 1 : 0,
    state.scannedTo ?? null,
    state.scanned,
    state.plants,
  )
}

/**
 * Checks an index when the indexer opens it. Skips a large index, as its check takes too long: reads find its damage
 * later.
 *
 * @throws IndexFault when SQLite finds damage
 */
export function checkFile(statements: StatementCache): void {
  const size = (pragma: string) => Number(statements.get(`PRAGMA ${pragma}`)?.[0])
  if (size('page_count') * size('page_size') > MAX_CHECKED) return
  const found = statements.get('PRAGMA quick_check(1)')?.[0]
  if (found !== 'ok') throw new IndexFault(`it is damaged: ${found}`)
}

/** Removes an index, also while connections have it open. */
export function removeIndex(path: string): void {
  // The file goes first: SQLite ignores a WAL without a database, but would apply a leftover WAL to a new file.
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}

/** Creates an empty index, and replaces a present one. Only the owner of the store may read it. */
export function createIndexFile(path: string, identity: Uint8Array, state: IndexState): DatabaseSync {
  removeIndex(path)
  closeSync(openSync(path, 'wx', 0o600))
  return inIndex(() => {
    const db = openDerivedWriter(path)
    transaction(db, () => {
      db.exec(`PRAGMA application_id = ${INDEX_APPLICATION_ID}`)
      db.exec(readAsset(SCHEMA).toString())
      db.prepare('INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?)').run(
        VERSION,
        identity,
        state.position,
        state.mark,
        state.isScanning ? 1 : 0,
        state.scannedTo ?? null,
        state.scanned,
        state.plants,
      )
    })
    // Without a checkpoint, a power cut could leave an empty file, beside which SQLite deletes the WAL.
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    return db
  })
}
