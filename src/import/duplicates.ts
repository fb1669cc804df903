import { hash } from 'node:crypto'
import type { ImportResult, NewPlant } from '../domain/plant.ts'
import type { Batch } from './batch.ts'
import type { SimilarFinder, SimilarRow } from './similar.ts'
import { FEW_NAMES, type StoredPlants } from './stored-plants.ts'

/** A row that would add a plant with the name and the tag of a stored one. */
export interface DuplicateRow {
  readonly line: number
  /** The stored plant. Rows with the same name and tag get different ones by id, while there are enough. */
  readonly id: bigint
}

export interface Duplicates {
  readonly duplicates: number
  readonly duplicateRows: readonly DuplicateRow[]
  /** Of rows without ids: the stored plants that other rows to add look like. */
  readonly similarRows?: readonly SimilarRow[]
}

const MAX_LISTED = 50_000
/** Rows after which the store is searched, and UTF-16 units of a key. Together they take at most 40 MB. */
const SEARCHED_ROWS = 50_000
const MAX_KEY = 256

interface Wanted {
  rows: number
  /** Stored plants with this name and tag, at most one for each row. */
  readonly ids: bigint[]
}

/**
 * Finds the rows of a dry run that would add a plant with the name and the tag of a stored one. It reads all plants once
 * for every SEARCHED_ROWS of such rows, unless they are few: no index has names and tags as they are.
 */
export class DuplicateFinder {
  readonly #plants: StoredPlants
  readonly #similar: SimilarFinder | undefined
  readonly #maxRows: number
  readonly #maxListed: number
  #wanted = new Map<string, Wanted>()
  /** The rows, each with its place among those with its name and tag. */
  #rows: (Pick<DuplicateRow, 'line'> & {
    readonly wanted: Wanted
    readonly place: number
    readonly plant?: NewPlant
  })[] = []
  /** The names of the rows, while they are few. */
  #names: Set<string> | undefined = new Set()
  #count = 0
  readonly #listed: DuplicateRow[] = []

  /** @param similar takes the rows that are no duplicates */
  constructor(
    plants: StoredPlants,
    { maxRows = SEARCHED_ROWS, maxListed = MAX_LISTED }: { maxRows?: number; maxListed?: number } = {},
    similar?: SimilarFinder,
  ) {
    this.#plants = plants
    this.#similar = similar
    this.#maxRows = maxRows
    this.#maxListed = maxListed
  }

  async add({ plants, lines }: Batch, results: readonly ImportResult[]): Promise<void> {
    for (const [i, plant] of plants.entries()) {
      if (results[i] === 'added') this.#add(lines[i] ?? 0, plant)
    }
    if (this.#rows.length >= this.#maxRows) await this.#find()
  }

  async end(): Promise<Duplicates> {
    await this.#find()
    const found = { duplicates: this.#count, duplicateRows: this.#listed }
    if (this.#similar === undefined) return found
    return { ...found, similarRows: await this.#similar.find(new Set(this.#listed.map(({ id }) => id))) }
  }

  #add(line: number, plant: NewPlant): void {
    const key = keyOf(plant)
    if (this.#names?.add(plant.name).size === FEW_NAMES + 1) this.#names = undefined
    let wanted = this.#wanted.get(key)
    if (wanted === undefined) {
      wanted = { rows: 0, ids: [] }
      this.#wanted.set(key, wanted)
    }
    this.#rows.push({ line, wanted, place: wanted.rows++, ...(this.#similar === undefined ? {} : { plant }) })
  }

  async #find(): Promise<void> {
    if (this.#rows.length === 0) return
    await this.#match()
    for (const { line, wanted, place, plant } of this.#rows) {
      const id = wanted.ids[place] ?? wanted.ids.at(-1)
      if (id === undefined) {
        if (plant !== undefined) this.#similar?.add(line, plant)
        continue
      }
      this.#count++
      if (this.#listed.length < this.#maxListed) this.#listed.push({ line, id })
    }
    this.#wanted = new Map()
    this.#rows = []
    this.#names = new Set()
  }

  async #match(): Promise<void> {
    let left = this.#rows.length
    for await (const page of this.#plants(this.#names)) {
      for (const plant of page) {
        const wanted = this.#wanted.get(keyOf(plant))
        if (wanted === undefined || wanted.ids.length === wanted.rows) continue
        wanted.ids.push(plant.id)
        if (--left === 0) return
      }
    }
  }
}

/** Two plants have the same key if they have the same name and tag. No text has U+0000. A long key is hashed. */
function keyOf({ name, tag }: NewPlant): string {
  const key = tag === undefined ? `${name}\0\0` : `${name}\0${tag}`
  return key.length > MAX_KEY ? hash('sha256', key, 'latin1') : key
}
