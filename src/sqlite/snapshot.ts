import type { DatabaseSync } from 'node:sqlite'
import { compareCodePoints, sortKey } from '../fold.ts'
import type { NewPlant } from '../plant.ts'
import {
  comparePositions,
  isByName,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
} from '../plant-query.ts'
import type { TagCount } from '../store.ts'
import { BehindError } from './behind.ts'
import { openReader } from './connection.ts'
import { idCount, idsIn } from './journal.ts'
import { Found, type Limit, PlantSearch } from './search.ts'
import { Statements } from './statements.ts'
import type { Steps } from './steps.ts'

/** Plants that are looked at in one step. */
const STEP = 64
/** Plants that a scan has not reached are counted up to here. */
const MAX_COUNTED = 100_000

/** Whether the answer comes from the indexes. */
export const needsIndex = (filter: PlantFilter, order: PlantOrder): boolean =>
  isByName(order) || filter.tags.length + filter.words.length > 0

/** A connection whose reads, from begin to end, see the store as it was at one moment. */
export class Snapshot {
  readonly #db: DatabaseSync
  readonly #statements: Statements
  readonly #search: PlantSearch

  constructor(path: string) {
    this.#db = openReader(path)
    this.#statements = new Statements(this.#db)
    this.#search = new PlantSearch(this.#statements)
  }

  begin(): void {
    this.#db.exec('BEGIN')
  }

  end(): void {
    if (this.#db.isTransaction) this.#db.exec('COMMIT')
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  /**
   * The plants that are not indexed.
   *
   * @throws BehindError when more than `most` were written since
   */
  *unindexed(most: number): Steps<bigint[]> {
    const [isScanning] = this.#statements.get('SELECT is_scanning FROM plant_index') ?? []
    const ids = new Set<bigint>()
    for (const [blob] of this.#statements.iterate('SELECT ids FROM plant_journal')) {
      for (const id of idsIn(blob)) ids.add(id)
      if (ids.size > most) break
    }
    if (isScanning === 1n || ids.size > most) throw new BehindError(this.#countUnindexed())
    const unindexed: bigint[] = []
    let seen = 0
    for (const id of ids) {
      const plant = this.#search.get(id)
      if (plant !== undefined && !this.#isIndexed(plant)) unindexed.push(id)
      if (++seen % STEP === 0) yield
    }
    return unindexed
  }

  /** @param unindexed the plants that are not, if the query needs the indexes */
  *list(query: PlantQuery, limit: Limit, unindexed: readonly bigint[]): Steps<NewPlant[]> {
    const indexed = yield* this.#search.find(query, limit)
    const others = this.#positions(query, unindexed)
    if (others.length === 0) return indexed.plants
    const { order } = query
    const known = new Map(indexed.plants.map((plant) => [plant.id, plant]))
    const positions = indexed.plants.map((plant) => positionOf(order, plant)).concat(others)
    // Behind the last of them there are more in the indexes when it was full.
    const end = indexed.isFull ? indexed.plants.at(-1) : undefined
    const found = new Found(limit)
    for (const { id } of positions.sort((a, b) => comparePositions(order, a, b))) {
      if (found.isFull) break
      const plant = known.get(id) ?? this.#search.get(id)
      if (plant !== undefined) found.add(plant)
      if (id === end?.id) break
    }
    return found.plants
  }

  check(): void {
    this.#statements.get('SELECT id FROM plants LIMIT 1')
  }

  /** How many there are. */
  plants(): number {
    return Number(this.#statements.get('SELECT count(*) FROM plants')?.[0] ?? 0)
  }

  tags(after: string | undefined, limit: number, unindexed: readonly bigint[]): TagCount[] {
    const rows = this.#statements.all(
      `SELECT tag, plants FROM tag_counts WHERE ${after === undefined ? 'TRUE' : 'tag > ?'} ORDER BY tag LIMIT ?`,
      ...(after === undefined ? [] : [after]),
      limit,
    )
    const counts = new Map(rows.map(([tag, plants]) => [tag as string, Number(plants)]))
    for (const id of unindexed) {
      const tag = this.#search.get(id)?.tag
      if (tag === undefined || (after !== undefined && compareCodePoints(tag, after) <= 0)) continue
      counts.set(tag, (counts.get(tag) ?? this.#count(tag)) + 1)
    }
    return Array.from(counts, ([tag, plants]) => ({ tag, plants }))
      .sort((a, b) => compareCodePoints(a.tag, b.tag))
      .slice(0, limit)
  }

  /** The places of those of the plants that the query means, and not the plants: any of them may be large. */
  #positions(query: PlantQuery, ids: readonly bigint[]): Position[] {
    return ids.flatMap((id) => {
      const plant = this.#search.get(id)
      if (plant === undefined || !matches(query, plant)) return []
      const position = positionOf(query.order, plant)
      return query.after === undefined || comparePositions(query.order, position, query.after) > 0 ? [position] : []
    })
  }

  #isIndexed({ id, name }: NewPlant): boolean {
    return this.#statements.get('SELECT 1 FROM plant_names WHERE key = ? AND id = ?', sortKey(name), id) !== undefined
  }

  #count(tag: string): number {
    return Number(this.#statements.get('SELECT plants FROM tag_counts WHERE tag = ?', tag)?.[0] ?? 0)
  }

  #countUnindexed(): number {
    const [bytes] = this.#statements.get('SELECT coalesce(sum(length(ids)), 0) FROM plant_journal') ?? []
    const [unscanned] =
      this.#statements.get(
        `SELECT count(*) FROM (SELECT 1 FROM plants, plant_index
          WHERE is_scanning AND (scanned_to IS NULL OR id > scanned_to) LIMIT ?)`,
        MAX_COUNTED,
      ) ?? []
    return idCount(bytes as bigint) + Number(unscanned)
  }
}
