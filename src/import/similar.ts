import { isTurnOver, nextTurn } from '../base/time-slice.ts'
import { type NewPlant, textLength } from '../domain/plant.ts'
import { ALL_PLANTS, type PlantFilter } from '../domain/plant-query.ts'
import { type FoldedName, foldedName, stepsBetween, unlikenessOf } from './sheet/likeness.ts'

/** A row that would add a plant, and the stored plant that it looks like with a corrected name. */
export interface SimilarRow {
  readonly line: number
  readonly plant: NewPlant
}

/** Yields stored plants of a filter, the newest first. */
export type NewestPlants = (filter: PlantFilter) => AsyncIterable<readonly NewPlant[]>

/** The most rows that are compared with stored plants, and the stored plants that are read for that, the newest first. */
const MOST_COMPARED = 1000
const MOST_READ = 20_000
/** UTF-16 units of the texts of all rows that are kept until it is known which of them are stored. */
const MOST_TEXT = 2 ** 20
/** Tags by which the store is asked for plants. */
const MOST_TAGS = 20
/** The most steps of all comparisons, about a second, and pairs of a row and a plant that are kept. */
const MOST_STEPS = 2 ** 28
const MOST_PAIRS = 100_000
/** Steps between two looks at the time. */
const SLICE = 2 ** 17

interface Stored {
  readonly plant: NewPlant
  readonly name: FoldedName
}

/** Finds the stored plants that rows of a dry run probably correct: they have the tag of a row and a name like its own. */
export class SimilarFinder {
  readonly #newest: NewestPlants
  #rows: { readonly line: number; readonly plant: NewPlant }[] = []
  #text = 0

  constructor(newest: NewestPlants) {
    this.#newest = newest
  }

  /** Takes a row that would add a plant, and whose name and tag no stored one has. */
  add(line: number, plant: NewPlant): void {
    this.#text += textLength(plant)
    if (!this.#isTooMuch) this.#rows.push({ line, plant })
  }

  /**
   * Compares the rows if they are not too many for a sheet with corrections. Takes each row and each plant once, the pairs
   * that are most alike first.
   *
   * @param taken the ids of plants that other rows are
   */
  async find(taken: ReadonlySet<bigint>): Promise<readonly SimilarRow[]> {
    if (this.#isTooMuch || this.#rows.length === 0) return []
    const pairs = await this.#alike(await this.#storedBeside(taken))
    return matched(pairs.flat()).toSorted((a, b) => a.line - b.line)
  }

  /** The pairs of a row and a plant that are alike, by how far they are apart. */
  async #alike(stored: ReadonlyMap<string | undefined, readonly Stored[]>): Promise<readonly SimilarRow[][]> {
    const pairs: SimilarRow[][] = []
    let [count, steps, looked] = [0, 0, 0]
    for (const { line, plant } of this.#rows) {
      if (isTurnOver()) await nextTurn()
      const name = foldedName(plant.name)
      for (const other of stored.get(plant.tag) ?? []) {
        const next = stepsBetween(name, other.name)
        const unlikeness = unlikenessOf(name, other.name, next)
        if (unlikeness !== undefined) {
          pairs[unlikeness] ??= []
          pairs[unlikeness].push({ line, plant: other.plant })
          if (++count === MOST_PAIRS) return pairs
        }
        steps += next
        if (steps > MOST_STEPS) return pairs
        if (steps - looked < SLICE) continue
        looked = steps
        if (isTurnOver()) await nextTurn()
      }
    }
    return pairs
  }

  get #isTooMuch(): boolean {
    return this.#text > MOST_TEXT || this.#rows.length > MOST_COMPARED
  }

  /** The newest stored plants with the tags of the rows, by their tags. */
  async #storedBeside(taken: ReadonlySet<bigint>): Promise<ReadonlyMap<string | undefined, readonly Stored[]>> {
    const found = new Map<string | undefined, Stored[]>(this.#rows.map(({ plant }) => [plant.tag, []]))
    const tags = [...found.keys()].filter((tag) => tag !== undefined)
    const isByTag = tags.length === found.size && tags.length <= MOST_TAGS
    let count = 0
    for await (const page of this.#newest(isByTag ? { ...ALL_PLANTS, tags } : ALL_PLANTS)) {
      for (const plant of page) {
        if (!taken.has(plant.id)) found.get(plant.tag)?.push({ plant, name: foldedName(plant.name) })
        if (isTurnOver()) await nextTurn()
      }
      count += page.length
      if (count >= MOST_READ) break
    }
    return found
  }
}

function matched(rows: readonly SimilarRow[]): readonly SimilarRow[] {
  const lines = new Set<number>()
  const ids = new Set<bigint>()
  return rows.filter(({ line, plant }) => {
    if (lines.has(line) || ids.has(plant.id)) return false
    lines.add(line)
    ids.add(plant.id)
    return true
  })
}
