import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncDirectory } from '../../base/new-file.ts'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openDerivedWriter, openReader } from '../connection.ts'
import { StatementCache } from '../statement-cache.ts'
import { BatchReader } from './batch-reader.ts'
import { IndexFault, IndexStatements, inIndex } from './index-fault.ts'
import {
  checkFile,
  createIndexFile,
  type IndexState,
  indexPath,
  inodeOf,
  readState,
  removeIndex,
  writeState,
} from './index-file.ts'
import { PlantIndex } from './plant-index.ts'

/** Bounds of one transaction. */
export interface IndexerBounds {
  /** Plants in a batch, unless fewer remain. */
  readonly batch: number
  /** The number of new names at which a merge into the large table begins. */
  readonly mergeFrom: number
}
/** 1,000 plants take 27 µs each, 5,000 take 21. */
const BOUNDS: IndexerBounds = { batch: 5000, mergeFrom: 200_000 }

/** The reason for the first build of an index. */
export const NONE_YET = 'there is none yet'

export interface IndexProgress {
  readonly inode: number
  readonly position: number
  /** Changes of the log that the index lacks. */
  readonly behind: number
  /** Plants that this step indexed. */
  readonly indexed: number
  /** The part of all plants that is in the index, from 0 to 1. */
  readonly share: number
  /** Whether no work remains. */
  readonly isDone: boolean
  /** The reason for which this step rebuilt the index; absent when it did not. */
  readonly rebuilt?: string
}

/** The connection to the index. */
interface Open {
  readonly db: DatabaseSync
  readonly statements: IndexStatements
  readonly plants: PlantIndex
  readonly inode: number
}

/**
 * Updates the search index from the log of changes, in one transaction after the other. Several processes may do so at
 * once: each takes the write lock of the index, and then reads its position again.
 */
export class Indexer {
  readonly #path: string
  readonly #bounds: IndexerBounds
  readonly #store: DatabaseSync
  readonly #statements: StatementCache
  readonly #changes: ChangeReader
  readonly #batches: BatchReader
  readonly #identity: Uint8Array
  #index: Open | undefined
  #rebuildReason: string | undefined

  constructor(storePath: string, bounds = BOUNDS) {
    this.#path = indexPath(storePath)
    this.#bounds = bounds
    this.#store = openReader(storePath)
    this.#statements = new StatementCache(this.#store)
    this.#changes = new ChangeReader(this.#statements)
    this.#batches = new BatchReader(this.#statements, this.#changes, bounds.batch)
    this.#identity = this.#changes.identity()
  }

  /**
   * Indexes some plants. It first rebuilds an index that is missing or damaged, or of another version or history.
   *
   * @throws IndexFault when the step fails. Call it again later
   */
  step(): IndexProgress {
    return this.#try() ?? this.#try() ?? notOpen()
  }

  /**
   * Makes all commits so far durable, and the names of the files. They stay durable, because SQLite restarts the WAL
   * only after it has copied the whole WAL into the file, and synced the file.
   */
  sync(): void {
    const log = openSync(`${this.#path}-wal`, 'r+')
    try {
      fsyncSync(log)
    } finally {
      closeSync(log)
    }
    syncDirectory(dirname(this.#path))
  }

  /** Copies the whole log into the file and truncates it, unless reads still need it. */
  restartLog(): void {
    inIndex(() => this.#index?.db.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
  }

  /** Has the next step rebuild the index, unless another file has replaced the faulty one. */
  rebuild(inode: number, why: string): void {
    if (inodeOf(this.#path) === inode) this.#rebuildReason = why
  }

  /** Removes the index, and returns the position of the newest change: a new index needs no older ones. */
  drop(): number {
    this.#closeIndex()
    removeIndex(this.#path)
    return this.#changes.head()
  }

  close(): void {
    this.#closeIndex()
    this.#store.close()
  }

  /** @returns undefined when the index has a fault, and the next call must rebuild it */
  #try(): IndexProgress | undefined {
    let rebuilt: string | undefined
    try {
      rebuilt = this.#open()
      const progress = this.#advance()
      return rebuilt === undefined ? progress : { ...progress, rebuilt }
    } catch (error) {
      // PlantIndex may count entries of the transaction that is rolled back.
      this.#closeIndex()
      if (!(error instanceof IndexFault) || error.isPassing || rebuilt !== undefined) throw error
      this.#rebuildReason = error.message
      return undefined
    }
  }

  /** @returns the reason for a rebuild; undefined when it opened the present index */
  #open(): string | undefined {
    const inode = inodeOf(this.#path)
    if (this.#index !== undefined && this.#index.inode !== inode) this.#rebuildReason ??= 'it was removed or replaced'
    if (this.#index === undefined && this.#rebuildReason === undefined) this.#openPresent(inode)
    const why = this.#rebuildReason
    if (why === undefined) return undefined
    this.#closeIndex()
    this.#use(
      createIndexFile(
        this.#path,
        this.#identity,
        this.#inStore(() => this.#batches.initialState()),
      ),
    )
    this.#rebuildReason = undefined
    return why
  }

  #openPresent(inode: number | undefined): void {
    if (inode === undefined) {
      this.#rebuildReason = NONE_YET
      return
    }
    try {
      this.#use(inIndex(() => openDerivedWriter(this.#path)))
      const index = this.#index ?? notOpen()
      checkFile(index.statements)
      this.#inStore(() => this.#state(index))
    } catch (error) {
      if (!(error instanceof IndexFault) || error.isPassing) throw error
      this.#rebuildReason = error.message
    }
  }

  #use(db: DatabaseSync): void {
    try {
      const statements = new IndexStatements(db)
      this.#index = {
        db,
        statements,
        plants: new PlantIndex(statements, this.#bounds.mergeFrom),
        inode: inodeOf(this.#path) ?? -1,
      }
    } catch (error) {
      db.close()
      throw error
    }
  }

  #closeIndex(): void {
    this.#index?.db.close()
    this.#index = undefined
  }

  #advance(): IndexProgress {
    const index = this.#index ?? notOpen()
    const isIdle = (state: IndexState, head: number) =>
      state.position === head && !state.isScanning && !index.plants.isMerging
    const [present, head] = this.#inStore(() => [this.#state(index), this.#changes.head()] as const)
    if (isIdle(present, head)) return progressOf(index, present, head, 0, true)
    return inTransaction(index.db, () => {
      // The read of the store ends before the writes: an open one keeps SQLite from restarting the store's WAL.
      const batch = this.#inStore(() => this.#batches.read(this.#state(index)))
      index.plants.remove(batch.removed)
      index.plants.add(batch.added)
      index.plants.merge()
      writeState(index.statements, batch.next)
      return progressOf(index, batch.next, batch.head, batch.indexed, isIdle(batch.next, batch.head))
    })
  }

  /** Reads the state of the index, and checks that the store's log continues it. */
  #state({ statements }: Open): IndexState {
    const state = readState(statements, this.#identity)
    if (state === undefined) throw new IndexFault('it belongs to another version or another store')
    if (!this.#changes.continuesFrom(state.position, state.mark)) {
      throw new IndexFault('the log of changes does not continue at its position')
    }
    return state
  }

  /** Runs `work` in a read transaction of the store, whose snapshot begins with the first query of the store. */
  #inStore<T>(work: () => T): T {
    this.#store.exec('BEGIN')
    try {
      return work()
    } finally {
      this.#store.exec('COMMIT')
    }
  }
}

/** Runs `work` in a write transaction. After an error, the caller closes the connection, which rolls back. */
function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  inIndex(() => db.exec('BEGIN IMMEDIATE'))
  const result = work()
  inIndex(() => db.exec('COMMIT'))
  return result
}

function progressOf({ inode }: Open, state: IndexState, head: number, indexed: number, isDone: boolean): IndexProgress {
  const behind = head - state.position
  const share = state.isScanning ? Math.min(0.99, state.scanned / Math.max(1, state.plants)) : 1
  return { inode, position: state.position, behind, indexed, share, isDone }
}

function notOpen(): never {
  throw new Error('the index is not open')
}
