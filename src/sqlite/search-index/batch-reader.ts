import { type NewPlant, textLength } from '../../domain/plant.ts'
import type { ChangeReader } from '../change-log/change-reader.ts'
import { plantOf } from '../rows.ts'
import type { StatementCache } from '../statement-cache.ts'
import { type IndexState, idsAfter } from './index-file.ts'

/** Maximum number of plants in a batch. */
const MAX_BATCH = 50_000
/** A batch takes at least this part of a long lag, because each batch also reads the ids of the rest. */
const PARTS = 4
/** Batches are larger during a scan by this factor, because a scan continues only at the head of the log. */
const TIMES_WHILE_SCANNING = 4
/** UTF-16 units of names and tags after which a batch ends: half a second of work when all words differ. */
const MAX_TEXT = 2 ** 18

/** Reads plants by their ids, in half the time of a statement for each. */
const PLANTS = 'SELECT plants.id, name, tag FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value'

/** The work of one transaction of the index. */
export interface Batch {
  /** States of plants that the transaction must remove from the index. */
  readonly removed: readonly NewPlant[]
  /** States of plants at the new position, which the transaction must add. */
  readonly added: readonly NewPlant[]
  /** The state of the index after the batch. */
  readonly next: IndexState
  /** The position of the newest change. */
  readonly head: number
  /** The number of plants that were read. */
  readonly indexed: number
}

/** Reads the changes and plants that the index lacks. Call its methods inside a read transaction of the store. */
export class BatchReader {
  readonly #statements: StatementCache
  readonly #changes: ChangeReader
  readonly #minPlants: number

  /** @param minPlants plants in a batch, unless fewer remain */
  constructor(statements: StatementCache, changes: ChangeReader, minPlants: number) {
    this.#statements = statements
    this.#changes = changes
    this.#minPlants = minPlants
  }

  /** Returns the state of a new, empty index. */
  initialState(): IndexState {
    const position = this.#changes.head()
    const plants = Number(this.#statements.get('SELECT count(*) FROM plants')?.[0] ?? 0)
    const mark = this.#changes.mark(position) ?? ''
    return { position, mark, isScanning: plants > 0, scannedTo: undefined, scanned: 0, plants }
  }

  /** Reads the next changes of the log. At the head of the log, it also reads the next plants of a scan. */
  read(state: IndexState): Batch {
    const head = this.#changes.head()
    const { position, text, states } = this.#changed(state, head)
    const { removed, added } = difference(states)
    const next = { ...state, position, mark: this.#changes.mark(position) ?? state.mark }
    if (position < head || !state.isScanning) return { removed, added, next, head, indexed: states.size }
    const scan = this.#scanned(state.scannedTo, MAX_TEXT - text)
    const last = scan.isOver ? undefined : scan.plants.at(-1)?.id
    const indexed = states.size + scan.plants.length
    return {
      removed,
      added: added.concat(scan.plants),
      next: { ...next, isScanning: !scan.isOver, scannedTo: last, scanned: state.scanned + scan.plants.length },
      head,
      indexed,
    }
  }

  #changed({ position: from, isScanning, scannedTo }: IndexState, head: number): Changed {
    const times = isScanning ? TIMES_WHILE_SCANNING : 1
    const max = Math.min(MAX_BATCH, Math.max(this.#minPlants * times, (head - from) / PARTS))
    const states: States = new Map()
    let position = from
    let text = 0
    for (const change of from === head ? [] : this.#changes.after(from)) {
      // The scan will read this plant later, in its state at that time.
      const isNew = (id: bigint) => !states.has(id) && !(isScanning && (scannedTo === undefined || id > scannedTo))
      const ids = change.ids.filter(isNew)
      for (const id of ids) states.set(id, { was: change.before, is: undefined })
      text += change.before === undefined ? 0 : textLength(change.before)
      for (const row of this.#statements.all(PLANTS, `[${ids.join()}]`)) {
        const plant = plantOf(row)
        const state = states.get(plant.id)
        if (state !== undefined) state.is = plant
        text += textLength(plant)
      }
      position = change.position
      if (states.size >= max || text >= MAX_TEXT * times) break
    }
    // The states are those at the head. Plants that changed again after the batch get their states at its end.
    if (position < head) {
      for (const [id, earlier] of this.#changes.statesAt(position, states)) {
        const state = states.get(id)
        if (state !== undefined) state.is = earlier
      }
    }
    return { position, text, states }
  }

  /** Reads the next plants of a scan, in their states at the head. */
  #scanned(from: bigint | undefined, maxText: number): { readonly plants: NewPlant[]; readonly isOver: boolean } {
    const plants: NewPlant[] = []
    let text = 0
    const { condition, values } = idsAfter(from)
    const sql = `SELECT id, name, tag FROM plants WHERE ${condition} ORDER BY id LIMIT ?`
    for (const row of this.#statements.iterate(sql, ...values, this.#minPlants)) {
      const plant = plantOf(row)
      plants.push(plant)
      text += textLength(plant)
      if (text >= maxText) break
    }
    return { plants, isOver: plants.length < this.#minPlants && text < maxText }
  }
}

/** Plants in their states in the index and at the position of a batch. */
type States = Map<bigint, { readonly was: NewPlant | undefined; is: NewPlant | undefined }>

/** The plants that changed up to a position. */
interface Changed {
  readonly position: number
  /** UTF-16 units. */
  readonly text: number
  readonly states: States
}

function difference(states: States): Pick<Batch, 'removed' | 'added'> {
  const removed: NewPlant[] = []
  const added: NewPlant[] = []
  for (const { was, is } of states.values()) {
    if (was?.name === is?.name && was?.tag === is?.tag) continue
    if (was !== undefined) removed.push(was)
    if (is !== undefined) added.push(is)
  }
  return { removed, added }
}
