import type { DatabaseSync } from 'node:sqlite'
import { compareCodePoints } from '../../fold.ts'
import type { NewPlant } from '../../plant.ts'
import {
  comparePositions,
  isByName,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
} from '../../plant-query.ts'
import type { TagCount } from '../../store.ts'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { BehindError } from '../search-index/index-behind.ts'
import { type IndexState, idsBehind } from '../search-index/index-file.ts'
import { IndexView } from '../search-index/index-view.ts'
import { PlantSearch, Turn } from '../search-index/search.ts'
import { StatementCache } from '../statement-cache.ts'
import type { Task } from '../worker/cooperative.ts'
import { type PageLimit, ResultPage } from './result-page.ts'

/** Whether the answer comes from the search index. */
export const needsIndex = (filter: PlantFilter, order: PlantOrder): boolean =>
  isByName(order) || filter.tags.length + filter.words.length > 0

/** What a reader looks up in the store itself: the index does not have it, or as it was. */
export interface Unindexed {
  readonly ids: ReadonlySet<bigint>
  /** Those that the index has as they were: the tag that each had then. */
  readonly tags: ReadonlyMap<bigint, string | undefined>
}

export const NOTHING: Unindexed = { ids: new Set(), tags: new Map() }

/** Connections whose reads, from begin to end, see the store, and the search index, as they were at one moment. */
export class Snapshot {
  readonly #db: DatabaseSync
  readonly #statements: StatementCache
  readonly #changes: ChangeReader
  readonly #identity: Uint8Array
  readonly #view: IndexView
  readonly #search: PlantSearch
  #index: IndexState | undefined

  constructor(path: string) {
    this.#db = openReader(path)
    this.#statements = new StatementCache(this.#db)
    this.#changes = new ChangeReader(this.#statements)
    this.#identity = this.#changes.identity()
    this.#view = new IndexView(path)
    this.#search = new PlantSearch(this.#statements, this.#view)
  }

  /** @param withIndex for reads that need the index */
  begin(withIndex: boolean): void {
    const index = withIndex ? this.#view.begin(this.#identity) : undefined
    this.#db.exec('BEGIN')
    this.#index = index !== undefined && this.#view.isContinued(this.#changes, index) ? index : undefined
  }

  end(): void {
    this.#view.end()
    if (this.#db.isTransaction) this.#db.exec('COMMIT')
  }

  close(): void {
    this.#view.close()
    if (this.#db.isOpen) this.#db.close()
  }

  /** What is to be told of a fault of one of the reads. */
  faultOf(error: unknown): unknown {
    return this.#view.faultOf(error)
  }

  /**
   * What the index lacks: plants that changed behind its position, and those that a scan has not reached.
   *
   * @throws BehindError when these are more than `most`
   */
  unindexed(most: number): Unindexed {
    const index = this.#index
    if (index !== undefined && this.#changes.head() - index.position > most) throw new BehindError()
    const tags = index === undefined ? new Map<bigint, string | undefined>() : this.#changes.tagsAt(index.position)
    const ids = new Set(tags.keys())
    if (index === undefined || index.isScanning) {
      const { condition, values } = idsBehind(index?.scannedTo)
      for (const id of tags.keys()) if (index?.scannedTo === undefined || id > index.scannedTo) tags.delete(id)
      const sql = `SELECT id FROM plants WHERE ${condition} ORDER BY id LIMIT ?`
      for (const [id] of this.#statements.iterate(sql, ...values, most + 1)) ids.add(id as bigint)
      if (ids.size > most) throw new BehindError()
    }
    return { ids, tags }
  }

  *list(query: PlantQuery, limit: PageLimit, unindexed: Unindexed): Task<NewPlant[]> {
    const isIndexed = this.#index !== undefined || !needsIndex(query, query.order)
    const indexed = isIndexed ? yield* this.#search.find(query, limit, unindexed.ids) : new ResultPage(limit)
    const others = yield* this.#positions(query, unindexed.ids)
    if (others.length === 0) return indexed.plants
    const { order } = query
    const known = new Map(indexed.plants.map((plant) => [plant.id, plant]))
    const positions = indexed.plants.map((plant) => positionOf(order, plant)).concat(others)
    // Behind the last of them there are more in the index when it was full.
    const end = indexed.isFull ? indexed.plants.at(-1) : undefined
    const found = new ResultPage(limit)
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

  *tags(after: string | undefined, limit: number, { ids, tags }: Unindexed): Task<TagCount[]> {
    const changed = new Map<string, number>()
    const change = (tag: string | undefined, by: number) => {
      if (tag !== undefined) changed.set(tag, (changed.get(tag) ?? 0) + by)
    }
    for (const tag of tags.values()) change(tag, -1)
    const turn = new Turn()
    for (const id of ids) {
      change(this.#tag(id), 1)
      if (turn.isOverAfter(undefined)) yield
    }
    // As many more as may turn out to have no plants any more.
    const counts = this.#indexedTags(after, limit + changed.size)
    for (const [tag, by] of changed) {
      if (after !== undefined && compareCodePoints(tag, after) <= 0) continue
      const count = (counts.get(tag) ?? this.#count(tag)) + by
      if (count > 0) counts.set(tag, count)
      else counts.delete(tag)
    }
    return Array.from(counts, ([tag, plants]) => ({ tag, plants }))
      .sort((a, b) => compareCodePoints(a.tag, b.tag))
      .slice(0, limit)
  }

  /** The places of those of the plants that the query means, and not the plants: any of them may be large. */
  *#positions(query: PlantQuery, ids: ReadonlySet<bigint>): Task<Position[]> {
    const positions: Position[] = []
    const turn = new Turn()
    for (const id of ids) {
      const plant = this.#search.get(id)
      if (plant !== undefined && matches(query, plant)) {
        const position = positionOf(query.order, plant)
        const { order, after } = query
        if (after === undefined || comparePositions(order, position, after) > 0) positions.push(position)
      }
      if (turn.isOverAfter(plant)) yield
    }
    return positions
  }

  #tag(id: bigint): string | undefined {
    return (
      (this.#statements.get('SELECT tag FROM plants WHERE id = ?', id)?.[0] as string | null | undefined) ?? undefined
    )
  }

  #indexedTags(after: string | undefined, limit: number): Map<string, number> {
    if (this.#index === undefined) return new Map()
    const rows = this.#view.statements.all(
      `SELECT tag, plants FROM tag_counts WHERE ${after === undefined ? 'TRUE' : 'tag > ?'} ORDER BY tag LIMIT ?`,
      ...(after === undefined ? [] : [after]),
      limit,
    )
    return new Map(rows.map(([tag, plants]) => [tag as string, Number(plants)]))
  }

  #count(tag: string): number {
    if (this.#index === undefined) return 0
    return Number(this.#view.statements.get('SELECT plants FROM tag_counts WHERE tag = ?', tag)?.[0] ?? 0)
  }
}
