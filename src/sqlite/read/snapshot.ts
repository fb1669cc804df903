import type { DatabaseSync } from 'node:sqlite'
import type { NewPlant } from '../../domain/plant.ts'
import {
  compareCodePoints,
  comparePositions,
  isByName,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
} from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import { ChangeFeed } from '../change-log/change-feed.ts'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { type PageLimit, ResultPage, StatementCache } from '../rows.ts'
import { BehindError, type IndexState, IndexView, idsAfter, PLANT_WORK, SQL_WORK } from '../search-index/index-file.ts'
import { type IdRange, PlantSearch, range } from '../search-index/search.ts'
import { type Task, Turn } from '../worker/cooperative.ts'
import { candidates, tagsOf, type Unindexed, worksOf } from './lookup.ts'

/** Whether a query needs the search index. */
export const needsIndex = (filter: PlantFilter, order: PlantOrder): boolean =>
  isByName(order) || filter.tags.length + filter.words.length > 0

/** A digest of a set of plants, whatever their order. */
export interface Content {
  plants: number
  /** The sum of their ids, modulo 2^64. */
  ids: bigint
}

export function addTo(content: Content, id: bigint): void {
  content.plants++
  content.ids = BigInt.asUintN(64, content.ids + id)
}

/** Plants that one statement counts, in about a millisecond. */
const PLANTS_PER_COUNT = 20_000

/** A connection to the store and one to the search index. From `begin` to `end`, reads see both at one moment. */
export class Snapshot {
  readonly feed: ChangeFeed
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
    this.feed = new ChangeFeed(this.#statements, this.#identity)
    this.#view = new IndexView(path)
    this.#search = new PlantSearch(this.#statements, this.#view)
  }

  /** @param withIndex whether the reads need the index */
  begin(withIndex: boolean): void {
    const index = withIndex ? this.#view.begin(this.#identity) : undefined
    this.#db.exec('BEGIN')
    // The log is read after the index, so it has all changes of the index if it continues there.
    const isContinued = index !== undefined && this.#changes.continuesFrom(index.position, index.mark)
    this.#index = isContinued ? index : undefined
  }

  end(): void {
    this.#view.end()
    if (this.#db.isTransaction) this.#db.exec('COMMIT')
  }

  forgetIndex(): void {
    this.#view.close()
  }

  close(): void {
    this.#view.close()
    if (this.#db.isOpen) this.#db.close()
  }

  /** Returns the error to throw for an error of a read; see IndexView.faultOf. */
  faultOf(error: unknown): unknown {
    return this.#view.faultOf(error)
  }

  /** Whether the index lacks plants that its scan has not reached, or is missing. */
  get isFilling(): boolean {
    return this.#index === undefined || this.#index.isScanning
  }

  /**
   * Finds the plants that the index lacks: those that changed after its position, and those that its scan has not
   * reached.
   *
   * @throws BehindError when they are more work for the index than `max`
   */
  unindexed(max: number): Unindexed {
    const index = this.#index
    // Each change is some work, so a long log need not be read.
    if (index !== undefined && (this.#changes.head() - index.position) * PLANT_WORK > max) throw new BehindError()
    const tags = index === undefined ? new Map<bigint, string | undefined>() : this.#changes.tagsAt(index.position)
    const ids = new Set(tags.keys())
    let work = 0
    for (const some of worksOf(this.#statements, ids)) {
      work += some
      if (work > max) throw new BehindError()
    }
    if (index === undefined || index.isScanning) {
      for (const id of tags.keys()) if (index?.scannedTo === undefined || id > index.scannedTo) tags.delete(id)
      for (const id of this.#within(max - work, { direction: 'ASC', ...idsAfter(index?.scannedTo) })) ids.add(id)
    }
    return { ids, tags }
  }

  /** Yields ids in their order. @throws BehindError when their plants are more work for the index than `max` */
  *#within(max: number, { condition, direction, values }: IdRange): Iterable<bigint> {
    let work = 0
    const sql = `SELECT id, ${SQL_WORK} FROM plants WHERE ${condition} ORDER BY id ${direction}`
    for (const { 0: id, 1: some } of this.#statements.iterate(sql, ...values)) {
      work += Number(some)
      if (work > max) throw new BehindError()
      yield id as bigint
    }
  }

  /** Returns a page of the query, by the index and the plants that it lacks. */
  *list(query: PlantQuery, limit: PageLimit, unindexed: Unindexed): Task<NewPlant[]> {
    const isIndexed = this.#index !== undefined || !needsIndex(query, query.order)
    const indexed = isIndexed ? yield* this.#search.find(query, limit, unindexed.ids) : new ResultPage(limit)
    // After the last plant of a full page, the index may have plants that precede some of the others.
    const end = indexed.isFull ? indexed.plants.at(-1) : undefined
    const others = yield* this.#positions(query, end, unindexed.ids)
    if (others.length === 0) return indexed.plants
    const { order } = query
    const known = new Map(indexed.plants.map((plant) => [plant.id, plant]))
    const positions = indexed.plants.map((plant) => positionOf(order, plant)).concat(others)
    const found = new ResultPage(limit)
    for (const { id } of positions.sort((a, b) => comparePositions(order, a, b))) {
      if (found.isFull) break
      const plant = known.get(id) ?? this.#search.get(id)
      if (plant !== undefined) found.add(plant)
      if (id === end?.id) break
    }
    return found.plants
  }

  /**
   * Returns a page of a query by id, without the index: looks at all plants in their order.
   *
   * @throws BehindError when the page is not full after plants of `max` work for the index
   */
  *scan(query: PlantQuery, limit: PageLimit, max: number): Task<NewPlant[]> {
    const found = new ResultPage(limit)
    const turn = new Turn()
    const ids = this.#within(max, range(query, 'id'))
    for (const plant of candidates(this.#statements, ids, query)) {
      if (plant !== undefined && matches(query, plant)) found.add(plant)
      if (found.isFull) break
      if (plant === undefined || turn.isOverAfter(plant)) yield
    }
    return found.plants
  }

  /** Returns the content of a query, without the index. */
  *contentOf(filter: PlantFilter): Task<Content> {
    const content: Content = { plants: 0, ids: 0n }
    const query: PlantQuery = { ...filter, order: 'id', after: undefined }
    const turn = new Turn()
    for (const plant of candidates(this.#statements, this.#search.all(query), query)) {
      if (plant !== undefined && matches(query, plant)) addTo(content, plant.id)
      if (plant === undefined || turn.isOverAfter(plant)) yield
    }
    return content
  }

  check(): void {
    this.#statements.get('SELECT id FROM plants LIMIT 1')
  }

  /** Counts the plants in steps: one statement for ten million plants would keep other reads waiting for 0.3 s. */
  *countPlants(): Task<number> {
    let count = 0
    for (let where = '', last: bigint[] = []; ; where = 'WHERE id > ?') {
      const end = this.#statements.get(
        `SELECT id FROM plants ${where} ORDER BY id LIMIT 1 OFFSET ${PLANTS_PER_COUNT - 1}`,
        ...last,
      )
      if (end === undefined) {
        const rest = this.#statements.get(`SELECT count(*) FROM plants ${where}`, ...last)
        return count + Number(rest?.[0] ?? 0)
      }
      count += PLANTS_PER_COUNT
      last = [end[0] as bigint]
      yield
    }
  }

  /** Returns the counts of tags, from the index and the plants that it lacks. */
  *tags(after: string | undefined, limit: number, { ids, tags }: Unindexed): Task<TagCount[]> {
    const changed = new Map<string, number>()
    const change = (tag: string | undefined, by: number) => {
      if (tag !== undefined) changed.set(tag, (changed.get(tag) ?? 0) + by)
    }
    for (const tag of tags.values()) change(tag, -1)
    for (const tag of tagsOf(this.#statements, ids)) {
      change(tag, 1)
      if (tag === undefined) yield
    }
    // Each changed tag may have lost all its plants, so the page reads one more tag for each.
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

  /**
   * Returns the positions of the plants that match the query, and not the plants, as these may be large.
   *
   * @param end the last plant of the page, if it is known
   */
  *#positions(query: PlantQuery, end: NewPlant | undefined, ids: ReadonlySet<bigint>): Task<Position[]> {
    const { order, after } = query
    const last = end && positionOf(order, end)
    const isWanted = (position: Position) =>
      (after === undefined || comparePositions(order, position, after) > 0) &&
      (last === undefined || comparePositions(order, position, last) < 0)
    // In an order by id, the id alone gives the position.
    const wanted = isByName(order) ? ids : Array.from(ids).filter((id) => isWanted({ key: '', id }))
    const positions: Position[] = []
    const turn = new Turn()
    for (const plant of candidates(this.#statements, wanted, query)) {
      if (plant !== undefined && matches(query, plant)) {
        const position = positionOf(order, plant)
        if (isWanted(position)) positions.push(position)
      }
      if (plant === undefined || turn.isOverAfter(plant)) yield
    }
    return positions
  }

  #indexedTags(after: string | undefined, limit: number): Map<string, number> {
    if (this.#index === undefined) return new Map()
    const rows = this.#view.statements.all(
      `SELECT tag, plants FROM tag_counts WHERE ${after === undefined ? 'TRUE' : 'tag > ?'} ORDER BY tag LIMIT ?`,
      ...(after === undefined ? [] : [after]),
      limit,
    )
    return new Map(rows.map(({ 0: tag, 1: plants }) => [tag as string, Number(plants)]))
  }

  #count(tag: string): number {
    if (this.#index === undefined) return 0
    return Number(this.#view.statements.get('SELECT plants FROM tag_counts WHERE tag = ?', tag)?.[0] ?? 0)
  }
}
