import { fsyncSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { syncDirectory, withOpen } from '../../base/files.ts'
import { type NewPlant, textLength } from '../../domain/plant.ts'
import { changesAfter, continuesFrom, headOf, identityIn, markAt } from '../change-log/change-reader.ts'
import { openDerivedWriter, openReader } from '../connection.ts'
import { type IndexProgress, indexPath, inodeOf } from '../indexed.ts'
import { idsAfter } from '../lookup.ts'
import { plantOf, StatementCache } from '../rows.ts'
import {
  createIndexFile,
  IndexFault,
  type IndexState,
  IndexStatements,
  inIndex,
  readState,
  removeIndex,
  writeState,
} from './index-file.ts'
import { PlantIndex } from './plant-index.ts'

/**
 * Bounds of one transaction: plants in a batch, unless fewer remain, and the number of new names at which a merge into the
 * large table begins. 1,000 plants take 27 µs each, 5,000 take 21.
 */
const BOUNDS = { batch: 5000, mergeFrom: 200_000 }

export const NONE_YET = 'there is none yet'

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
  readonly #bounds: typeof BOUNDS
  readonly #store: DatabaseSync
  readonly #statements: StatementCache
  readonly #identity: Uint8Array
  #index: Open | undefined
  #rebuildReason: string | undefined

  constructor(storePath: string, bounds = BOUNDS) {
    this.#path = indexPath(storePath)
    this.#bounds = bounds
    this.#store = openReader(storePath)
    this.#statements = new StatementCache(this.#store)
    this.#identity = identityIn(this.#statements)
  }

  /**
   * Indexes some plants. It first rebuilds an index that is missing or damaged, or of another version or history.
   *
   * @throws IndexFault when the step fails. Call it again later
   */
  step(): IndexProgress {
    for (let isRetry = false; ; isRetry = true) {
      try {
        const { index, rebuilt } = this.#open()
        if (rebuilt === undefined) return this.#advance(index)
        const made = this.#inStore(() => progressOf(this.#state(index), headOf(this.#statements)))
        // The first plants take long, and the service is to know before them how many are missing.
        return { ...made, rebuilt }
      } catch (error) {
        // PlantIndex may count entries of the transaction that is rolled back.
        this.#closeIndex()
        if (!(error instanceof IndexFault) || error.isPassing || isRetry) throw error
        this.#rebuildReason = error.message
      }
    }
  }

  /**
   * Makes all commits so far durable, and the names of the files. They stay durable, because SQLite restarts the WAL
   * only after it has copied the whole WAL into the file, and synced the file.
   */
  sync(): void {
    withOpen(`${this.#path}-wal`, 'r+', fsyncSync)
    syncDirectory(dirname(this.#path))
  }

  /** Copies the whole log into the file and truncates it, unless reads still need it. */
  restartWal(): void {
    inIndex(() => this.#index?.db.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
  }

  /** Has the next step rebuild the index, unless another file has replaced the faulty one. */
  rebuild(inode: number, why: string): void {
    if (inodeOf(this.#path) === inode) this.#rebuildReason = why
  }

  /** Removes the index. @returns the progress of the next one, which needs no changes up to now */
  drop(): IndexProgress {
    this.#closeIndex()
    removeIndex(this.#path)
    return this.#inStore(() => progressOf(initialState(this.#statements), headOf(this.#statements)))
  }

  close(): void {
    this.#closeIndex()
    this.#store.close()
  }

  /** @returns the index, and the reason for a rebuild; undefined when it is the present one */
  #open(): { readonly index: Open; readonly rebuilt: string | undefined } {
    const inode = inodeOf(this.#path)
    if (this.#index !== undefined && this.#index.inode !== inode) this.#rebuildReason ??= 'it was removed or replaced'
    if (inode === undefined) this.#rebuildReason ??= NONE_YET
    const rebuilt = this.#rebuildReason
    if (rebuilt === undefined) {
      return { index: this.#index ?? this.#use(inIndex(() => openDerivedWriter(this.#path))), rebuilt }
    }
    this.#closeIndex()
    const state = this.#inStore(() => initialState(this.#statements))
    const index = this.#use(createIndexFile(this.#path, this.#identity, state))
    this.#rebuildReason = undefined
    return { index, rebuilt }
  }

  #use(db: DatabaseSync): Open {
    const statements = new IndexStatements(db)
    const plants = new PlantIndex(statements, this.#bounds.mergeFrom)
    this.#index = { db, statements, plants, inode: inodeOf(this.#path) ?? -1 }
    return this.#index
  }

  #closeIndex(): void {
    this.#index?.db.close()
    this.#index = undefined
  }

  #advance(index: Open): IndexProgress {
    const isIdle = (state: IndexState, head: number) =>
      state.position === head && !state.isScanning && !index.plants.names.isMerging
    const [present, head] = this.#inStore(() => [this.#state(index), headOf(this.#statements)] as const)
    if (isIdle(present, head)) return progressOf(present, head, { isDone: true })
    return inTransaction(index.db, () => {
      // The read of the store ends before the writes: an open one keeps SQLite from restarting the store's WAL.
      const batch = this.#inStore(() => readBatch(this.#statements, this.#state(index), this.#bounds.batch))
      index.plants.remove(batch.removed, batch.named)
      const { names } = index.plants
      index.plants.add(batch.added, batch.named, batch.next.isScanning)
      names.merge(batch.next.isScanning || names.hasScanned ? batch.next.scanned : 0, !batch.next.isScanning)
      const next = { ...batch.next, isScanning: batch.next.isScanning || names.hasScanned }
      writeState(index.statements, this.#identity, next)
      return progressOf(next, batch.head, { indexed: batch.indexed, isDone: isIdle(next, batch.head) })
    })
  }

  /** Reads the state of the index, and checks that the store's log continues it. */
  #state({ statements }: Open): IndexState {
    const state = readState(statements, this.#identity)
    if (state === undefined) throw new IndexFault('it belongs to another version or another store')
    if (!continuesFrom(this.#statements, state)) {
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

function progressOf(state: IndexState, head: number, { indexed = 0, isDone = false } = {}): IndexProgress {
  const { position, isScanning, scanned, plants } = state
  const behind = head - position
  const share = isScanning ? Math.min(0.99, scanned / Math.max(1, plants)) : 1
  // At the end of a scan, a merge of names is left.
  const unscanned = isScanning ? Math.max(1, plants - scanned) : 0
  return { position, behind, unscanned, indexed, share, isDone }
}

/** Maximum number of plants in a batch. */
const MAX_BATCH = 50_000
/** A batch takes at least this part of a long lag, because each batch also reads the ids of the rest. */
const PARTS = 4
/**
 * Batches are larger during a scan by this factor, because a scan continues only at the head of the log. Those of plants
 * alone are larger as well: for a million, the index then writes 5 times its size in place of 11. With the factor 10 it
 * writes 4.8 times, and the process takes 306 MB in place of 227.
 */
const TIMES_WHILE_SCANNING = 4
/** UTF-16 units of names and tags after which a batch ends: half a second of work when all words differ. */
const MAX_TEXT = 2 ** 18

interface Batch {
  /** States of plants that the transaction must remove from the index. */
  readonly removed: readonly NewPlant[]
  /** Ids of plants with another tag and the same name. */
  readonly named: ReadonlySet<bigint>
  /** States of plants at the new position, which the transaction must add. */
  readonly added: readonly NewPlant[]
  readonly next: IndexState
  readonly head: number
  readonly indexed: number
}

function initialState(statements: StatementCache): IndexState {
  const position = headOf(statements)
  const plants = Number(statements.get('SELECT count(*) FROM plants')?.[0] ?? 0)
  const mark = markAt(statements, position) ?? ''
  return { position, mark, isScanning: plants > 0, scannedTo: undefined, scanned: 0, plants, entries: 0 }
}

/**
 * Reads the next changes of the log, which the index lacks. At the head of the log, it also reads the next plants of a
 * scan. Call it in a read transaction of the store.
 *
 * @param minPlants plants in a batch, unless fewer remain
 */
function readBatch(statements: StatementCache, state: IndexState, minPlants: number): Batch {
  const head = headOf(statements)
  const { position, text, states } = changed(statements, state, head, minPlants)
  const isAtScan = position === head && state.isScanning
  const times = states.size === 0 ? TIMES_WHILE_SCANNING : 1
  const read = {
    ...state,
    ...(isAtScan ? scan(statements, state, states, minPlants * times, MAX_TEXT * times - text) : {}),
    position,
    mark: markAt(statements, position) ?? state.mark,
  }
  const batch = difference(states)
  const next = { ...read, entries: state.entries + batch.added.length - batch.removed.length }
  return { ...batch, next, head, indexed: states.size }
}

function changed(
  statements: StatementCache,
  { position: from, isScanning, scannedTo }: IndexState,
  head: number,
  minPlants: number,
) {
  const times = isScanning ? TIMES_WHILE_SCANNING : 1
  const max = Math.min(MAX_BATCH, Math.max(minPlants * times, (head - from) / PARTS))
  const states: States = new Map()
  let position = from
  let text = 0
  let work = 0
  for (const change of from === head ? [] : changesAfter(statements, from)) {
    // The scan will read this plant later, in its state at that time.
    const isNew = (id: bigint) => !states.has(id) && !(isScanning && (scannedTo === undefined || id > scannedTo))
    for (const [i, id] of change.ids.entries()) {
      const plant = change.plants[i]
      const known = states.get(id)
      if (known !== undefined) known.is = plant
      if (!isNew(id)) continue
      states.set(id, { was: change.before, is: plant })
      // A plant that is replaced takes twice the time of a new one, and searches wait for the batch.
      work += change.before === undefined ? 1 : 2
      text +=
        (change.before === undefined ? 0 : textLength(change.before)) + (plant === undefined ? 0 : textLength(plant))
    }
    position = change.position
    if (work >= max || text >= MAX_TEXT * times) break
  }
  return { position, text, states }
}

/** Adds the next plants of a scan, in their states at the head. */
function scan(
  statements: StatementCache,
  { scannedTo, scanned }: IndexState,
  states: States,
  maxPlants: number,
  maxText: number,
): Partial<IndexState> {
  const { condition, values } = idsAfter(scannedTo)
  const sql = `SELECT id, name, tag FROM plants WHERE ${condition} ORDER BY id LIMIT ?`
  let [plants, text, last] = [0, 0, scannedTo]
  for (const row of statements.iterate(sql, ...values, maxPlants)) {
    const plant = plantOf(row)
    states.set(plant.id, { was: undefined, is: plant })
    last = plant.id
    plants++
    text += textLength(plant)
    if (text >= maxText) break
  }
  const isScanning = plants === maxPlants || text >= maxText
  return { isScanning, scannedTo: last, scanned: scanned + plants }
}

/** Plants in their states in the index and at the position of a batch. */
type States = Map<bigint, { readonly was: NewPlant | undefined; is: NewPlant | undefined }>

function difference(states: States): Pick<Batch, 'removed' | 'added' | 'named'> {
  const removed: NewPlant[] = []
  const added: NewPlant[] = []
  const named = new Set<bigint>()
  for (const { was, is } of states.values()) {
    if (was?.name === is?.name && was?.tag === is?.tag) continue
    if (was !== undefined) removed.push(was)
    if (is !== undefined) added.push(is)
    if (was !== undefined && was.name === is?.name) named.add(was.id)
  }
  return { removed, added, named }
}
