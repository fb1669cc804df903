import { closeSync, openSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { readAsset } from '../../base/assets.ts'
import { INDEX_APPLICATION_ID, openDerivedWriter, openReader } from '../connection.ts'
import { isFull, isWriteFault, type SqliteFault, sqliteFault } from '../errors.ts'
import { indexPath, inodeOf, UnreadyIndex } from '../indexed.ts'
import { type SqliteRow, StatementCache } from '../rows.ts'
import { transaction } from '../wal/transaction.ts'

/**
 * Primary result codes of temporary faults: full disk, database busy, out of memory, and a file that can't be opened
 * for lack of a descriptor or of permission (https://sqlite.org/rescode.html).
 */
const PASSING = [13, 5, 7, 14]

/** An error of the search index. It does not affect the store. */
export class IndexFault extends Error {
  override readonly name = 'IndexFault'
  /** Whether the content of the file may be intact, so that the index can use the same file later. */
  readonly isPassing: boolean
  /** Whether a write has failed, most often for lack of space. */
  readonly isOfWriting: boolean

  constructor(message: string, fault?: SqliteFault) {
    super(message)
    this.isOfWriting = fault !== undefined && (isFull(fault) || isWriteFault(fault))
    this.isPassing = this.isOfWriting || (fault !== undefined && PASSING.includes(fault.errcode & 0xff))
  }
}

/** Runs `work`, and turns every fault of SQLite into an IndexFault. */
export function inIndex<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw indexFault(error)
  }
}

function indexFault(error: unknown): unknown {
  const fault = sqliteFault(error)
  return fault === undefined ? error : new IndexFault(`SQLite ${fault.errcode}: ${fault.message}`, fault)
}

export class IndexStatements extends StatementCache {
  override get(...query: Parameters<StatementCache['get']>): SqliteRow | undefined {
    return inIndex(() => super.get(...query))
  }

  override all(...query: Parameters<StatementCache['all']>): SqliteRow[] {
    return inIndex(() => super.all(...query))
  }

  override run(...query: Parameters<StatementCache['run']>): bigint {
    return inIndex(() => super.run(...query))
  }

  override *iterate(...query: Parameters<StatementCache['iterate']>): IterableIterator<SqliteRow> {
    try {
      yield* super.iterate(...query)
    } catch (error) {
      throw indexFault(error)
    }
  }
}

const SCHEMA = new URL('../../../sql/sqlite-index.sql', import.meta.url)
/** Raise the number when the schema, src/domain/plant-query.ts or src/sqlite/search-index/plant-index.ts changes. */
const VERSION = `18, Unicode ${process.versions['unicode']}`

export interface IndexState {
  /** The position in the log of changes up to which the index has all changes. */
  readonly position: number
  /** The mark of the log at the position (`markAt` of the log of changes). */
  readonly mark: string
  /** Whether a scan of all plants still fills the index. */
  readonly isScanning: boolean
  /** The largest id that the scan has reached; undefined before its first plant. */
  readonly scannedTo: bigint | undefined
  /** The number of plants that the scan has read, and the number of all plants at its start. */
  readonly scanned: number
  readonly plants: number
  /** The number of plants in the index. */
  readonly entries: number
}

/** @returns undefined when the index belongs to another version of the program or to another store */
export function readState(statements: StatementCache, identity: Uint8Array): IndexState | undefined {
  const row = statements.get(
    `SELECT position, mark, is_scanning, scanned_to, scanned, plants, entries FROM state WHERE version = ? AND store = ?`,
    VERSION,
    identity,
  )
  if (row === undefined) return undefined
  const { 0: position, 1: mark, 2: isScanning, 3: scannedTo, 4: scanned, 5: plants, 6: entries } = row
  return {
    position: Number(position),
    mark: mark as string,
    isScanning: isScanning === 1n,
    scannedTo: (scannedTo as bigint | null) ?? undefined,
    scanned: Number(scanned),
    plants: Number(plants),
    entries: Number(entries),
  }
}

export function writeState(statements: StatementCache, identity: Uint8Array, state: IndexState): void {
  statements.run(
    'INSERT OR REPLACE INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    VERSION,
    identity,
    state.position,
    state.mark,
    state.isScanning ? 1 : 0,
    state.scannedTo ?? null,
    state.scanned,
    state.plants,
    state.entries,
  )
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
    // On a full disk, a connection that stays open would keep the space of the removed file.
    using failed = new DisposableStack()
    const db = failed.use(openDerivedWriter(path))
    transaction(db, () => {
      db.exec(`PRAGMA application_id = ${INDEX_APPLICATION_ID}`)
      db.exec(readAsset(SCHEMA).toString())
      writeState(new StatementCache(db), identity, state)
    })
    // Without a checkpoint, a power cut could leave an empty file, beside which SQLite deletes the WAL.
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    failed.move()
    return db
  })
}

interface Open {
  readonly db: DatabaseSync
  readonly statements: IndexStatements
  readonly inode: number
}

/** A reader's connection to the search index. From `begin` to `end` it sees the index at one position. */
export class IndexView {
  readonly #path: string
  #open: Open | undefined

  constructor(storePath: string) {
    this.#path = indexPath(storePath)
  }

  /**
   * Begins a read. Call it before the transaction of the store begins: the store then has all changes that the index
   * has.
   *
   * @returns the state of the index; undefined when there is no index of this store and version
   */
  begin(identity: Uint8Array): IndexState | undefined {
    const inode = inodeOf(this.#path)
    if (this.#open?.inode !== inode) this.close()
    if (inode === undefined) return undefined
    try {
      return inIndex(() => {
        if (this.#open === undefined) {
          const db = openReader(this.#path)
          this.#open = { db, statements: new IndexStatements(db), inode }
        }
        this.#open.db.exec('BEGIN')
        return readState(this.#open.statements, identity)
      })
    } catch (error) {
      this.close()
      // The indexer finds this fault too, and rebuilds the index.
      if (error instanceof IndexFault) return undefined
      throw error
    }
  }

  get statements(): IndexStatements {
    if (this.#open === undefined) throw new IndexFault('the index is not open')
    return this.#open.statements
  }

  /** Returns the error to throw for an error of a statement: an UnreadyIndex for an IndexFault. */
  faultOf(error: unknown): unknown {
    if (!(error instanceof IndexFault)) return error
    return new UnreadyIndex(error.message, error.isPassing ? undefined : this.#open?.inode)
  }

  end(): void {
    try {
      if (this.#open?.db.isTransaction === true) this.#open.db.exec('COMMIT')
    } catch {
      this.close()
    }
  }

  close(): void {
    this.#open?.db.close()
    this.#open = undefined
  }
}
