import { type NewPlant, textLength } from '../../plant.ts'
import type { ChangeReader } from '../change-log/change-reader.ts'
import { plantOf } from '../rows.ts'
import type { StatementCache } from '../statement-cache.ts'
import { type IndexState, idsAfter } from './index-file.ts'

/** Plants of the largest batch, and the share of the lag in one batch: each batch also reads the rest of the lag. */
const MAX_BATCH = 50_000
const PARTS = 4
/** A scan continues only at the head of the log, so the log is read in larger batches meanwhile. */
const TIMES_WHILE_SCANNING = 4
/** UTF-16 units of names and tags after which a batch ends: two seconds of work when all words are different. */
const MAX_TEXT = 2 ** 21

/** The work of one transaction of the index. */
export interface Batch {
  /** States of plants that the index must remove. */
  readonly gone: readonly NewPlant[]
  /** States of plants at the new position of the index. */
  readonly added: readonly NewPlant[]
  /** The state of the index after the batch. */
  readonly next: IndexState
  /** The position of the newest change. */
  readonly head: number
  /** The number of plants that were read. */
  readonly indexed: number
}

/** Reads what the index lacks, inside a read transaction of the store. */
export class BatchReader {
  readonly #statements: StatementCache
  readonly #changes: ChangeReader
  readonly #minPlants: number

  /** @param minPlants plants of a batch, unless fewer are left */
  constructor(statements: StatementCache, changes: ChangeReader, minPlants: number) {
    this.#statements = statements
    this.#changes = changes
    this.#minPlants = minPlants
  }

  /** The state of an index without plants. */
  first(): IndexState {
    const position = this.#changes.head()
    const plants = Number(this.#statements.get('SELECT count(*) FROM plants')?.[0] ?? 0)
    const mark = this.#changes.mark(position) ?? ''
    return { position, mark, isScanning: plants > 0, scannedTo: undefined, scanned: 0, plants }
  }

  /** The next changes of the log, and at its head the next plants of a scan. */
  read(state: IndexState): Batch {
    const head = this.#changes.head()
    const { position, text, before, after } = this.#changed(state, head)
    const { gone, added } = difference(before, after)
    const next = { ...state, position, mark: this.#changes.mark(position) ?? state.mark }
    if (position < head || !state.isScanning) return { gone, added, next, head, indexed: before.size }
    const scan = this.#scanned(state.scannedTo, MAX_TEXT - text)
    const last = scan.isOver ? undefined : scan.plants.at(-1)?.id
    const indexed = before.size + scan.plants.length
    return {
      gone,
      added: added.concat(scan.plants),
      next: { ...next, isScanning: !scan.isOver, scannedTo: last, scanned: state.scanned + scan.plants.length },
      head,
      indexed,
    }
  }

  #changed({ position: from, isScanning, scannedTo }: IndexState, head: number): Changed {
    const min = this.#minPlants * (isScanning ? TIMES_WHILE_SCANNING : 1)
    const max = Math.min(MAX_BATCH, Math.max(min, (head - from) / PARTS))
    const before = new Map<bigint, NewPlant | undefined>()
    const after = new Map<bigint, NewPlant | undefined>()
    let position = from
    let text = 0
    for (const change of from === head ? [] : this.#changes.after(from)) {
      for (const id of change.ids) {
        // The scan will read its state then.
        if (before.has(id) || (isScanning && (scannedTo === undefined || id > scannedTo))) continue
        const plant = this.#plant(id)
        before.set(id, change.before)
        after.set(id, plant)
        text += textOrNone(plant) + textOrNone(change.before)
      }
      position = change.position
      if (before.size >= max || text >= MAX_TEXT) break
    }
    // The plants were read at the head, so those that changed after the batch get their earlier state back.
    if (position < head) for (const [id, was] of this.#changes.statesAt(position, before)) after.set(id, was)
    return { position, text, before, after }
  }

  /** The next plants of a scan, in their state at the head. */
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

  #plant(id: bigint): NewPlant | undefined {
    const row = this.#statements.get('SELECT id, name, tag FROM plants WHERE id = ?', id)
    return row === undefined ? undefined : plantOf(row)
  }
}

type States = ReadonlyMap<bigint, NewPlant | undefined>

/** The changes of the log up to a position: each plant in its state in the index, and at that position. */
interface Changed {
  readonly position: number
  /** UTF-16 units. */
  readonly text: number
  readonly before: States
  readonly after: States
}

function difference(before: States, after: States): Pick<Batch, 'gone' | 'added'> {
  const gone: NewPlant[] = []
  const added: NewPlant[] = []
  for (const [id, was] of before) {
    const is = after.get(id)
    if (was?.name === is?.name && was?.tag === is?.tag) continue
    if (was !== undefined) gone.push(was)
    if (is !== undefined) added.push(is)
  }
  return { gone, added }
}

const textOrNone = (plant: NewPlant | undefined): number => (plant === undefined ? 0 : textLength(plant))
