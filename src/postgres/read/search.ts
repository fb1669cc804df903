import type { NewPlant } from '../../domain/plant.ts'
import { isByName, matches, type PlantQuery, positionOf } from '../../domain/plant-query.ts'
import type { Budget, Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { Sources } from './search-conditions.ts'
import { PAGE_BYTES, set, walk } from './search-statement.ts'
import type { SearchStatistics, StatisticsCache } from './search-statistics.ts'

/** See Store.listPlants. */
export async function listPlants(
  share: PoolShare,
  query: PlantQuery,
  limit: number,
  budget: Budget,
  kept: StatisticsCache,
): Promise<NewPlant[]> {
  const find = async (run: Run) => search(run, query, limit, await kept.current(run))
  const rows = await share.with(find, budget)
  const found = rows.filter((plant) => matches(query, plant))
  if (found.length === rows.length || !isFull(rows, limit)) return found
  // The index added plants that do not match. Reads the page again, with plants in their place, from one snapshot.
  const refill = async (run: Run) => fill(run, query, limit, await kept.current(run))
  return share.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', refill, budget)
}

/** Maximum number of plants that one page of `fill` reads. */
const MAX_REFILL = 1000

/** Reads larger and larger pages: all plants of the store may be some that the index has added. */
async function fill(run: Run, query: PlantQuery, limit: number, statistics: SearchStatistics): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after, size = limit; ; size = Math.min(MAX_REFILL, 4 * size)) {
    const page = await search(run, { ...query, after }, size, statistics)
    found.push(...page.filter((plant) => matches(query, plant)))
    const last = page.at(-1)
    if (last === undefined || isFull(found, limit) || !isFull(page, size)) return found.slice(0, limit)
    after = positionOf(query.order, last)
  }
}

/** Whether these plants fill a page, after which more may follow. */
function isFull(plants: readonly NewPlant[], limit: number): boolean {
  if (plants.length >= limit) return true
  let bytes = 0
  for (const { name, tag } of plants.slice(0, -1)) bytes += Buffer.byteLength(name) + Buffer.byteLength(tag ?? '')
  return bytes >= PAGE_BYTES
}

/** Plants in the first walk, which counts words. By id plants lie together on disk, by name and by tag anywhere. */
const FIRST = { id: 2000, name: 1000, tag: 500 }

/**
 * Finds the first plants of a query, from one snapshot. The index of words may add a few plants that do not match.
 *
 * The best index depends on the number of plants with the words and tags, and on their positions in the order. The
 * planner would have to guess both. So the search counts the hits among the first plants, and estimates the costs of
 * each way by this count and the statistics. It tries the cheapest way with a bound, then the other, and at last the set
 * without a bound. The settings of the session (src/postgres/pool/client.ts) leave each statement one plan.
 */
export async function search(
  run: Run,
  query: PlantQuery,
  limit: number,
  statistics: SearchStatistics,
): Promise<readonly NewPlant[]> {
  const sources = new Sources(query, statistics)
  if (sources.isEmpty) return []
  const first = FIRST[query.tags.length === 1 ? 'tag' : isByName(query.order) ? 'name' : 'id']
  let walked = await walk(run, sources, Math.max(first, limit), limit)
  const tried = new Set<string>()
  while (!walked.isRight) {
    const ways = waysOf(sources.query, { ...walked, limit, statistics })
    const way = ways.find(({ kind }) => !tried.has(kind))
    if (way === undefined || (tried.has('set') && way.cost > MAX_WALK_COST)) break
    tried.add(way.kind)
    if (way.kind === 'walk') {
      walked = await walk(run, sources, way.bound, limit)
    } else {
      const { rows, isRight } = await set(run, sources, way.bound, limit)
      if (isRight) return rows
    }
  }
  return walked.isRight ? walked.rows : (await set(run, sources, undefined, limit)).rows
}

/**
 * Microseconds of the database's processor, measured on PostgreSQL 18 with a million plants, those of whole words with
 * ten million. Only their ratios matter.
 */
const COST = {
  /** A plant of a walk: by id, where most lie near the one before on disk, in the order of a tag, and by name. */
  near: 0.35,
  inTag: 2,
  far: 3,
  /** A plant of a set, anywhere on disk. */
  plant: 3,
  /** A plant of a tag. PostgreSQL lists it in the index of tags. */
  tagged: 0.1,
  /** An entry of the index of words: to list it, and to compare it with the entries of other words. */
  entry: 0.13,
  compared: 0.35,
  /** The same for an entry of a whole word (hasWords). */
  whole: 0.02,
  wholeCompared: 0.12,
}
/** The assumed share of a word or tag that the statistics do not list. */
const RARE = 0.0002
/** The weight of the statistics, as a number of plants seen: for a word, and for a word among the plants of a tag. */
const WEIGHT = { word: 2000, inTag: 300 }
/** The bound of a step, as a factor of the expected plants. A walk ends once its page is full; a set reads all. */
const SAFETY = { walk: 2.5, set: 3 }
/** The least bounds, because estimates of rare words and tags are rough. */
const MIN_BOUND = { set: 20_000, tag: 5000 }
/** The maximum cost of a walk after a set that was too large: plants that are many, and not among the first, come late. */
const MAX_WALK_COST = MIN_BOUND.set * COST.plant
/** The assumed share of a tag without statistics, if the first walk has not read all its plants. */
const SOME_TAG = 0.05
/** Facts about a query, from its first plants and from the statistics. */
interface Facts {
  readonly limit: number
  /** The number of first plants, and the hits among them. */
  readonly seen: number
  readonly hits: number
  readonly statistics: SearchStatistics
}

/** A way to find the plants of a query, with the maximum number of plants to read, and its expected microseconds. */
export interface Way {
  readonly kind: 'walk' | 'set'
  readonly bound: number
  readonly cost: number
}

interface WordShare {
  /** The share of all plants that the index of words lists for the word, and of the plants with the query's tag. */
  readonly share: number
  /** Whether the index lists a whole word, and not a prefix. */
  readonly isWhole: boolean
  readonly inTag: number
}

/** Returns the ways to try, the cheapest first. */
function waysOf(query: PlantQuery, facts: Facts): Way[] {
  const { order, tags } = query
  const { limit, seen, hits, statistics } = facts
  const shares = sharesOf(query, facts)
  const tagged = statistics.plants * tagShareOf(query, facts)
  const positions = (limit * seen) / Math.max(hits, 0.2)
  const walked = tags.length === 1 ? Math.min(positions, Math.max(tagged, MIN_BOUND.tag)) : positions
  const plants = tagged * shares.reduce((all, { inTag }) => all * inTag, 1)
  const entries = statistics.plants * entryCost(shares)
  const each = tags.length === 1 ? COST.inTag : isByName(order) ? COST.far : COST.near
  const walk: Way = {
    kind: 'walk',
    bound: Math.max(limit, Math.ceil(walked * SAFETY.walk)),
    cost: Math.min(walked, tags.length === 1 ? tagged : walked) * each,
  }
  const set: Way = {
    kind: 'set',
    bound: Math.max(MIN_BOUND.set, Math.ceil(plants * SAFETY.set)),
    cost: entries + plants * COST.plant + (tags.length === 0 ? 0 : tagged * COST.tagged),
  }
  return walk.cost < set.cost ? [walk, set] : [set, walk]
}

/** Returns the shares of the words, the rarest first. */
function sharesOf({ words, order, tags }: PlantQuery, { hits, seen, statistics }: Facts): WordShare[] {
  // Of several words, the hits do not tell which one is rare.
  const count = words.length === 1 ? hits : undefined
  const blend = (known: number, weight: number) =>
    count === undefined ? known : (count + weight * known) / (seen + weight)
  const shares = words.map((word): WordShare => {
    if (!statistics.hasWords) {
      const share = Math.max(0.5, hits) / seen
      return { share, isWhole: false, inTag: share }
    }
    const { all, first } = statistics.shareOf(word)
    const known = Math.max(RARE, all)
    const isWhole = statistics.isFrequent(word)
    if (tags.length === 1) {
      const inTag = blend(known, WEIGHT.inTag)
      return { share: known, isWhole, inTag: isByName(order) ? Math.max(known, inTag) : inTag }
    }
    // By name, the plants whose names begin with the only word are a range of the order, and are not listed.
    const listed = isByName(order) && words.length === 1 ? Math.max(RARE, all - first) : known
    const share = blend(listed, WEIGHT.word)
    return { share, isWhole, inTag: share }
  })
  return shares.sort((a, b) => a.share - b.share)
}

/** Microseconds to read the entries of words, divided by the number of plants in the store. */
function entryCost(shares: readonly WordShare[]): number {
  const [rarest] = shares
  const compared = shares.every(({ isWhole }) => isWhole) ? COST.wholeCompared : COST.compared
  const listed = shares.reduce((sum, { share, isWhole }) => sum + share * (isWhole ? COST.whole : COST.entry), 0)
  return listed + (rarest?.share ?? 0) * compared
}

function tagShareOf({ tags }: PlantQuery, { statistics }: Facts): number {
  if (tags.length === 0) return 1
  return statistics.hasWords ? Math.max(RARE, statistics.shareOfTags(tags)) : SOME_TAG
}
