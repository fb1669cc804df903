import { closeSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openDerivedWriter, openReader } from '../connection.ts'
import { syncDirectory } from '../open/sync-directory.ts'
import { StatementCache } from '../statement-cache.ts'
import { BatchReader } from './batch-reader.ts'
import { IndexFault, IndexStatements, inIndex } from './index-fault.ts'
import { checkFile, createIndexFile, type IndexState, indexPath, inodeOf, readState, writeState } from './index-file.ts'
import { PlantIndex } from './plant-index.ts'

/** Bounds of one transaction. */
export interface IndexerBounds {
  /** Plants of a batch, if there are as many. */
  readonly batch: number
  /** New names from which on they are merged into the large table. */
  readonly mergeFrom: number
}
/** 1,000 plants take 27 µs each, 5,000 take 21. */
const BOUNDS: IndexerBounds = { batch: 5000, mergeFrom: 200_000 }

/** Why the index of a new store is built. */
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
  /** Nothing more remains to be done. */
  readonly isDone: boolean
  /** Why this step rebuilt the index. */
  readonly remade?: string
}

/** The index, while it is open. */
interface Open {
  readonly db: DatabaseSync
  readonly statements: IndexStatements
  readonly plants: PlantIndex
  readonly inode: number
}

/**
 * Updates the search index from the log of changes, one transaction at a time. Several processes may do so at once:
 * each takes the write lock of the index and reads its position again.
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
  #remakeBecause: string | undefined

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
   * Indexes some plants. It first rebuilds an index that is missing, damaged, of another version or of another history.
   *
   * @throws IndexFault when that is not possible now; it may be called again
   */
  step(): IndexProgress {
    return this.#try() ?? this.#try() ?? never()
  }

  /**
   * Makes all commits so far, and the names of the files, durable. SQLite restarts the log only after it has copied all
   * of it into the file and synced the file, so they stay durable.
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

  /** Rebuilds the index with the next step, unless the fault was in a file that is no longer used. */
  remake(inode: number, why: string): void {
    if (inodeOf(this.#path) === inode) this.#remakeBecause = why
  }

  close(): void {
    this.#closeIndex()
    this.#store.close()
  }

  /** @returns undefined when the index has a fault and must be rebuilt */
  #try(): IndexProgress | undefined {
    let remade: string | undefined
    try {
      remade = this.#open()
      const progress = this.#advance()
      return remade === undefined ? progress : { ...progress, remade }
    } catch (error) {
      // The state in memory may be ahead of a rolled-back transaction.
      this.#closeIndex()
      if (!(error instanceof IndexFault) || error.isPassing || remade !== undefined) throw error
      this.#remakeBecause = error.message
      return undefined
    }
  }

  /** @returns why the index was rebuilt, if it was */
  #open(): string | undefined {
    const inode = inodeOf(this.#path)
    if (this.#index !== undefined && this.#index.inode !== inode) this.#remakeBecause ??= 'it was removed or replaced'
    if (this.#index === undefined && this.#remakeBecause === undefined) this.#openPresent(inode)
    const why = this.#remakeBecause
    if (why === undefined) return undefined
    this.#closeIndex()
    this.#use(
      createIndexFile(
        this.#path,
        this.#identity,
        this.#inStore(() => this.#batches.first()),
      ),
    )
    this.#remakeBecause = undefined
    return why
  }

  #openPresent(inode: number | undefined): void {
    if (inode === undefined) {
      this.#remakeBecause = NONE_YET
      return
    }
    try {
      this.#use(inIndex(() => openDerivedWriter(this.#path)))
      const index = this.#index ?? never()
      checkFile(index.statements)
      this.#inStore(() => this.#state(index))
    } catch (error) {
      if (!(error instanceof IndexFault) || error.isPassing) throw error
      this.#remakeBecause = error.message
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
    const index = this.#index ?? never()
    const isIdle = (state: IndexState, head: number) =>
      state.position === head && !state.isScanning && !index.plants.isMerging
    const [present, head] = this.#inStore(() => [this.#state(index), this.#changes.head()] as const)
    if (isIdle(present, head)) return progressOf(index, present, head, 0, true)
    return inTransaction(index.db, () => {
      // The read of the store ends first: an open one keeps SQLite from restarting the store's log.
      const batch = this.#inStore(() => this.#batches.read(this.#state(index)))
      index.plants.remove(batch.gone)
      index.plants.add(batch.added)
      index.plants.merge()
      writeState(index.statements, batch.next)
      return progressOf(index, batch.next, batch.head, batch.indexed, isIdle(batch.next, batch.head))
    })
  }

  /** The state of the index is read first, so that the store has all its changes. */
  #state({ statements }: Open): IndexState {
    const state = readState(statements, this.#identity)
    if (state === undefined) throw new IndexFault('it belongs to another version or another store')
    if (!this.#changes.goesOnFrom(state.position, state.mark)) {
      throw new IndexFault('the log of changes does not continue at its position')
    }
    return state
  }

  /** Runs `work` in a read transaction of the store, which begins with its first query. */
  #inStore<T>(work: () => T): T {
    this.#store.exec('BEGIN')
    try {
      return work()
    } finally {
      this.#store.exec('COMMIT')
    }
  }
}

/** After a failure the caller closes the connection, which rolls the transaction back. */
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

function never(): never {
  throw new Error('the index is not open')
}
