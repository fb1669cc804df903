import type { DatabaseSync } from 'node:sqlite'
import type { NewPlant } from '../../domain/plant.ts'
import {
  compareCodePoints,
  comparePositions,
  hasFilter,
  isByName,
  isListed,
  isTagged,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
  type TagFilter,
  type TagQuery,
  wantedTags,
} from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import { ChangeFeed } from '../change-log/change-feed.ts'
import { changedAfter, continuesFrom, headOf, identityIn, tagsAt } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { PLANT_WORK, SQL_WORK, UnreadyIndex } from '../indexed.ts'
import { candidates, firstInOrder, firstOf, forEach, idsAfter, scan, tagsOf } from '../lookup.ts'
import { StatementCache } from '../rows.ts'
import { IndexFault, type IndexState, IndexView } from '../search-index/index-file.ts'
import { IndexQueries } from '../search-index/index-queries.ts'
import { LOOKED_UP_WORK } from '../search-index/index-throttle.ts'
import { hasUnmergedNames } from '../search-index/name-index.ts'
import { behindTag, rangeOf, rangeOfPrefix, type TagRange, UNTAGGED } from '../search-index/plant-index.ts'
import { merged, provenIds } from '../search-index/proof.ts'
import { PlantSearch } from '../search-index/search.ts'
import { TagSearch } from '../search-index/tag-search.ts'
import { type Task, Turn } from '../worker/cooperative.ts'

export const needsIndex = (filter: PlantFilter, order: PlantOrder): boolean => isByName(order) || hasFilter(filter)

/** Plants that a read looks up in the store, because the index lacks them or has an old state of them. */
export type Unindexed = ReadonlySet<bigint>

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

/**
 * Changes whose plants a proof looks up itself. The index has the words of the last plants together on one page, which
 * a single fault may hide from both of their lists.
 */
const CHANGED_LAST = 1000

/** Plants that one statement counts, in about a millisecond. */
const PLANTS_PER_COUNT = 20_000
/** Tags whose counts one statement adds up, in about a millisecond. */
const TAGS_PER_SUM = 10_000

/** A connection to the store and one to the search index. From `begin` to `end`, reads see both at one moment. */
export class Snapshot {
  readonly feed: ChangeFeed
  readonly #db: DatabaseSync
  readonly statements: StatementCache
  readonly #identity: Uint8Array
  readonly #view: IndexView
  readonly #search: PlantSearch
  readonly #tags: TagSearch
  #index: IndexState | undefined

  constructor(path: string) {
    this.#db = openReader(path)
    this.statements = new StatementCache(this.#db)
    this.#identity = identityIn(this.statements)
    this.feed = new ChangeFeed(this.statements, this.#identity)
    this.#view = new IndexView(path)
    const queries = new IndexQueries(this.#view)
    this.#search = new PlantSearch(this.statements, this.#view, queries)
    this.#tags = new TagSearch(this.statements, this.#view, queries)
  }

  begin(withIndex: boolean): void {
    const index = withIndex ? this.#view.begin(this.#identity) : undefined
    this.#db.exec('BEGIN')
    // The log is read after the index, so it has all changes of the index if it continues there.
    this.#index = index !== undefined && continuesFrom(this.statements, index) ? index : undefined
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
   * @throws UnreadyIndex when they are more work for the index than `max`
   */
  unindexed(max: number): Unindexed {
    const index = this.#index
    const mustBeWithin = (work: number) => {
      if (work > max) throw new UnreadyIndex('it is too far behind')
    }
    // Each change is some work, so a long log need not be read.
    if (index !== undefined) mustBeWithin((headOf(this.statements) - index.position) * PLANT_WORK)
    const ids = index === undefined ? new Set<bigint>() : changedAfter(this.statements, index.position)
    const changed = this.statements.get(
      `SELECT sum(${SQL_WORK}) FROM json_each(?) AS wanted CROSS JOIN plants ON plants.id = wanted.value`,
      `[${Array.from(ids).join()}]`,
    )
    let work = Number(changed?.[0] ?? 0)
    mustBeWithin(work)
    if (index !== undefined && !index.isScanning) return ids
    if (index !== undefined && hasUnmergedNames(this.#view.statements)) throw new UnreadyIndex('it is incomplete')
    const { condition, values } = idsAfter(index?.scannedTo)
    const sql = `SELECT id, ${SQL_WORK} FROM plants WHERE ${condition} ORDER BY id`
    for (const { 0: id, 1: some } of this.statements.iterate(sql, ...values)) {
      work += Number(some)
      mustBeWithin(work)
      ids.add(id as bigint)
    }
    return ids
  }

  /** Returns a page of a query that needs the index, by the index and the plants that it lacks. */
  *list(query: PlantQuery, limit: number, unindexed: Unindexed): Task<NewPlant[]> {
    const indexed = this.#index ? yield* this.#search.find(query, limit, unindexed) : []
    // After the last plant of a full page, the index may have plants that precede some of the others.
    const end = indexed.length >= limit ? indexed.at(-1) : undefined
    const others = yield* this.#unindexed(query, end, unindexed)
    return others.length === 0 ? indexed : firstInOrder([...indexed, ...others], query.order, limit)
  }

  /**
   * Returns a page of a query by id, without the index: looks at all plants in their order.
   *
   * @throws UnreadyIndex when the page is not full after plants of `max` work for the index
   */
  *scan(query: PlantQuery, limit: number, max?: number): Task<NewPlant[]> {
    return yield* firstOf(scan(this.statements, query, max), limit, (plant) => matches(query, plant))
  }

  /**
   * Finds all plants that may match a filter by the index, and proves that it hides none (provenIds).
   *
   * @returns their ids in order; undefined when a look at all plants takes less time, or the index lacks too many
   * @throws IndexFault when the index is damaged
   */
  *proven(filter: PlantFilter): Task<BigInt64Array | undefined> {
    const index = this.#index
    if (index === undefined || index.isScanning) return undefined
    if ((headOf(this.statements) - index.position) * PLANT_WORK > LOOKED_UP_WORK) return undefined
    const found = yield* provenIds(this.#view.statements, filter, index.entries, (tags) => this.#counted(tags))
    if (found === undefined) return undefined
    const changed = changedAfter(this.statements, index.position - CHANGED_LAST)
    let rest = 0
    function* unchanged() {
      for (const id of found?.isOfTags === true ? found.ids : []) if (!changed.has(id) && ++rest > 0) yield id
    }
    yield* forEach(candidates(this.statements, unchanged(), { ...filter, words: [] }), (plant) => {
      if (isTagged(filter, plant.tag)) rest--
      return false
    })
    if (rest > 0) throw new IndexFault(`${rest} plants of its tags have none of them`)
    return yield* merged([found.ids, new BigInt64Array(changed).sort()])
  }

  /** Returns those of these plants that match a filter. */
  *matching(filter: PlantFilter, ids: BigInt64Array): Task<NewPlant[]> {
    return yield* firstOf(candidates(this.statements, ids, filter), ids.length + 1, (plant) => matches(filter, plant))
  }

  /** Ends the read of the index, whose log could grow otherwise. */
  leaveIndex(): void {
    this.#index = undefined
    this.#view.end()
  }

  *contentOf(filter: PlantFilter): Task<Content> {
    const content: Content = { plants: 0, ids: 0n }
    const ids = hasFilter(filter) ? yield* this.proven(filter) : undefined
    const plants = ids
      ? candidates(this.statements, ids, filter)
      : scan(this.statements, { ...filter, order: 'id', after: undefined })
    yield* forEach(plants, (plant) => {
      if (matches(filter, plant)) addTo(content, plant.id)
      return false
    })
    return content
  }

  check(): void {
    this.statements.get('SELECT id FROM plants LIMIT 1')
  }

  /** Counts the plants in steps: one statement for ten million plants would keep other reads waiting for 0.3 s. */
  *countPlants(): Task<number> {
    for (let count = 0, last: bigint | undefined; ; count += PLANTS_PER_COUNT) {
      const { condition, values } = idsAfter(last)
      const sql = `SELECT count(*), max(id) FROM (SELECT id FROM plants WHERE ${condition} ORDER BY id LIMIT ?)`
      const { 0: some, 1: end } = this.statements.get(sql, ...values, PLANTS_PER_COUNT) ?? [0n, null]
      if (Number(some) < PLANTS_PER_COUNT) return count + Number(some)
      last = end as bigint
      yield
    }
  }

  /** Returns the first tags of a query, by the counts of the index and the plants that it lacks. */
  *tags(query: TagQuery, limit: number, unindexed: Unindexed): Task<TagCount[]> {
    const changed = new Map<string, number>()
    const change = (tag: string | null | undefined, by: number) => {
      if (tag != null) changed.set(tag, (changed.get(tag) ?? 0) + by)
    }
    for (const tag of this.#changedTags()) change(tag, -1)
    for (const tag of tagsOf(this.statements, unindexed)) {
      change(tag, 1)
      if (tag === undefined) yield
    }
    const isFound = (tag: string) => !changed.has(tag) && isListed(query, tag)
    const found = this.#index === undefined ? [] : yield* this.#tags.find(query, limit, isFound)
    const end = found.length < limit ? undefined : found.at(-1)?.tag
    const turn = new Turn()
    for (const [tag, by] of changed) {
      if (turn.isOver(tag.length)) yield
      if (!isListed(query, tag) || (end !== undefined && compareCodePoints(tag, end) > 0)) continue
      const plants = by + (this.#index === undefined ? 0 : this.#tags.countOf(tag))
      if (plants > 0) found.push({ tag, plants })
    }
    return found.sort((a, b) => compareCodePoints(a.tag, b.tag)).slice(0, limit)
  }

  /** Counts the plants of a filter without words, by the counts of tags and the plants that the index lacks. */
  *count(filter: TagFilter, unindexed: Unindexed): Task<number> {
    let count = this.#index === undefined ? 0 : yield* this.#counted(filter)
    for (const tag of this.#changedTags()) if (tag !== undefined && isTagged(filter, tag ?? undefined)) count--
    yield* forEach(candidates(this.statements, unindexed, { ...filter, words: [] }), ({ tag }) => {
      if (isTagged(filter, tag)) count++
      return false
    })
    return count
  }

  /** Adds up the counts of tags in steps: a million tags take 40 ms. */
  *#counted(filter: TagFilter): Task<number> {
    const wanted = wantedTags(filter)
    if (wanted === undefined) {
      return yield* this.#countedIn(filter.untagged === true ? rangeOf(UNTAGGED) : rangeOfPrefix(''))
    }
    const sql = 'SELECT sum(plants) FROM tag_counts WHERE tag IN (SELECT value FROM json_each(?))'
    let count = Number(this.#view.statements.get(sql, JSON.stringify(wanted.tags))?.[0] ?? 0)
    for (const prefix of wanted.prefixes) count += yield* this.#countedIn(rangeOfPrefix(prefix))
    return count
  }

  *#countedIn({ from, before }: TagRange): Task<number> {
    for (let count = 0; ; ) {
      const row = this.#view.statements.get(
        `SELECT sum(plants), count(*), max(tag)
          FROM (SELECT tag, plants FROM tag_counts WHERE tag >= ? AND tag < ? ORDER BY tag LIMIT ${TAGS_PER_SUM})`,
        from,
        before,
      )
      count += Number(row?.[0] ?? 0)
      if (Number(row?.[1]) < TAGS_PER_SUM) return count
      from = behindTag(row?.[2] as string)
      yield
    }
  }

  /** Yields the tags that the index has counted of plants that changed since: null for no tag, undefined for no plant. */
  *#changedTags(): Iterable<string | null | undefined> {
    const index = this.#index
    if (index === undefined) return
    const isCounted = (id: bigint) => !index.isScanning || (index.scannedTo !== undefined && id <= index.scannedTo)
    for (const [id, tag] of tagsAt(this.statements, index.position)) if (isCounted(id)) yield tag
  }

  /** Returns those of these plants that match the query. @param end the last plant of the page, if it is known */
  *#unindexed(query: PlantQuery, end: NewPlant | undefined, ids: Unindexed): Task<NewPlant[]> {
    const { order, after } = query
    const last = end && positionOf(order, end)
    const isWanted = (position: Position) =>
      (after === undefined || comparePositions(order, position, after) > 0) &&
      (last === undefined || comparePositions(order, position, last) < 0)
    // In an order by id, the id alone gives the position.
    const wanted = isByName(order) ? ids : Array.from(ids).filter((id) => isWanted({ key: '', id }))
    const found: NewPlant[] = []
    yield* forEach(candidates(this.statements, wanted, query), (plant) => {
      if (isWanted(positionOf(order, plant)) && matches(query, plant)) found.push(plant)
      return false
    })
    return found
  }
}
