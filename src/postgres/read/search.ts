import { inTurns } from '../../base/time-slice.ts'
import type { NewPlant } from '../../domain/plant.ts'
import {
  comparePositions,
  hasTagging,
  isByName,
  matches,
  type PlantFilter,
  type PlantQuery,
  positionOf,
  type TagFilter,
} from '../../domain/plant-query.ts'
import type { Budget, Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { Sources, storableTags, tagging } from './search-conditions.ts'
import { set, walk } from './search-statement.ts'
import type { SearchStatistics, StatisticsCache } from './search-statistics.ts'

/** Finds the first plants of a query. The index of words may add a few plants that do not match. */
export type Find = (run: Run, query: PlantQuery, limit: number) => Promise<readonly NewPlant[]>

export const findBy =
  (kept: StatisticsCache): Find =>
  async (run, query, limit) =>
    search(run, query, limit, await kept.current(run))

export async function listPlants(
  share: PoolShare,
  query: PlantQuery,
  limit: number,
  budget: Budget,
  find: Find,
): Promise<NewPlant[]> {
  const rows = await share.with((run) => find(run, query, limit), budget)
  const found = await matching(query, rows)
  if (found.length === rows.length || rows.length < limit) return found
  // The index added plants that do not match. Reads the page again, with plants in their place, from one snapshot.
  const refill = (run: Run) => fill(run, query, limit, find)
  return share.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', refill, budget)
}

/** See Store.countMatches. The counts of tags are current, as for a list of tags. */
export async function countMatches(
  share: PoolShare,
  filter: PlantFilter,
  max: number,
  budget: Budget,
  find: Find,
): Promise<number> {
  if (filter.words.length > 0) {
    return (await listPlants(share, { ...filter, order: 'id', after: undefined }, max, budget, find)).length
  }
  return counted(share, filter, budget, 'sum(plants) FROM (TABLE tag_counts UNION ALL TABLE tag_changes) AS each')
}

/** Counts the plants of a filter without words. @param what a sum and the table of whose rows it is */
export async function counted(
  share: PoolShare,
  { tags, ...filter }: TagFilter,
  budget: Budget,
  what = 'count(*) FROM plants',
): Promise<number> {
  const own = storableTags(tags)
  if (own.length < tags.length && own.length === 0) return 0
  if (filter.tagPrefix?.includes('\0')) return 0
  const values: unknown[] = []
  const where = tagging({ ...filter, tags: own }, (value) => `$${values.push(value)}`)
  const { rows } = await share.run({ text: `SELECT ${what} WHERE ${where ?? 'true'}`, values }, budget)
  return Number(rows[0]?.[0] ?? 0)
}

/** Returns the plants that match a filter. */
export async function matching(filter: PlantFilter, plants: readonly NewPlant[]): Promise<NewPlant[]> {
  const isFound = await inTurns(plants, (plant) => matches(filter, plant))
  return plants.filter((_, i) => isFound[i])
}

/** Maximum number of plants that one page of `fill` reads. */
const MAX_REFILL = 1000

/** Reads larger and larger pages: all plants of the store may be some that the index has added. */
async function fill(run: Run, query: PlantQuery, limit: number, find: Find): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after, size = limit; ; size = Math.min(MAX_REFILL, 4 * size)) {
    const page = await find(run, { ...query, after }, size)
    found.push(...(await matching(query, page)))
    const last = page.at(-1)
    if (last === undefined || found.length >= limit || page.length < size) return found.slice(0, limit)
    after = positionOf(query.order, last)
  }
}

/** Plants in the first walk, which counts words. By id plants lie together on disk, by name and by tag anywhere. */
const FIRST_WALK = { id: 2000, name: 1000, tag: 500 }

/**
 * Finds the first plants of a query, from one snapshot. The index of words may add a few plants that do not match.
 *
 * The best index depends on the number of plants with the words and tags, and on their positions in the order. The
 * planner would have to guess both. So the search counts the hits among the first plants, and estimates the costs of
 * each way by this count and the statistics. Where a longer walk is cheaper, it comes first. Then the set follows, and
 * one that exceeds its bound only up to the last name of the page so far, or as a whole. The settings of the session
 * (src/postgres/pool/client.ts) leave each statement one plan.
 */
export async function search(
  run: Run,
  query: PlantQuery,
  limit: number,
  statistics: SearchStatistics,
): Promise<readonly NewPlant[]> {
  const sources = new Sources(query, statistics)
  if (sources.isEmpty) return []
  const first = FIRST_WALK[sources.isOneTag ? 'tag' : isByName(query.order) ? 'name' : 'id']
  let walked = await walk(run, sources, Math.max(first, limit), limit)
  const { cost, plants, further } = estimate(sources, limit, walked, statistics)
  if (!walked.isRight && cost.walk < cost.set) walked = await walk(run, sources, further, limit)
  if (walked.isRight) return walked.rows
  const some = isByName(query.order) ? Math.ceil(Math.sqrt(limit * plants)) : Infinity
  const { rows, isRight, starts } = await set(run, sources, plants <= MIN_BOUND.set ? MIN_BOUND.set : some, limit)
  if (isRight) return rows
  const within = rows.length >= limit ? sources.within(rows, starts) : undefined
  const names = within?.starts.reduce((sum, start) => sum + statistics.shareOf(start).first * statistics.plants, 0) ?? 0
  if (within !== undefined && names * COST.entry < Math.max(plants, MIN_BOUND.set) * COST.plant) {
    const page = await set(run, sources, Infinity, limit, within)
    const last = page.rows.at(-1)
    // Where plants of the first set are gone by now, the page may end behind those names.
    const isWhole =
      last &&
      page.rows.length >= limit &&
      comparePositions(query.order, positionOf(query.order, last), within.last) <= 0
    if (isWhole) return page.rows
  }
  return (await set(run, sources, Infinity, limit)).rows
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
  /** An entry of the index of words, and an entry of a whole word (hasWords). */
  entry: 0.25,
  whole: 0.05,
}
/** The assumed share of a word or tag that the statistics do not list. */
const RARE = 0.0002
/** The assumed share of a tag without statistics, if the first walk has not read all its plants. */
const SOME_TAG = 0.05
/** The weight of statistics, in plants seen: of a word, of one in a tag, of one not listed, which may begin many, of several. */
const WEIGHT = { word: 2000, inTag: 300, unlisted: 100, several: 100 }
/** The bound of a walk, as a factor of the expected plants. */
const SAFETY = 2.5
/** The least bounds, because estimates of rare words and tags are rough. */
const MIN_BOUND = { set: 20_000, tag: 5000 }

/**
 * Returns the expected cost of a walk and of a set, the number of plants in the set, and the bound of the walk.
 *
 * @param seen the number of first plants, with `hits` among them
 */
function estimate(
  { query, isOneTag: isTag }: Sources,
  limit: number,
  { seen, hits }: { readonly seen: number; readonly hits: number },
  statistics: SearchStatistics,
): { cost: { walk: number; set: number }; plants: number; further: number } {
  const { order, words } = query
  const hasTag = hasTagging(query)
  // The tags with a prefix may be many that the statistics do not list, so the first plants count for them, too.
  const seenOfTags = query.tagPrefix === undefined || words.length > 0 ? 0 : hits / seen
  const shareOfTags = statistics.hasWords ? Math.max(RARE, statistics.shareOfTags(query), seenOfTags) : SOME_TAG
  const tagged = statistics.plants * (hasTag ? shareOfTags : 1)
  const positions = (limit * seen) / Math.max(hits, 0.2)
  const walked = isTag ? Math.min(positions, Math.max(tagged, MIN_BOUND.tag)) : positions
  // A set of words reads plants with and without a tag.
  const isAnyTag = query.untagged === true && words.length > 0
  let plants = isAnyTag ? statistics.plants : tagged
  let entries = 0
  let share = 1
  let weight = WEIGHT.several
  for (const word of words) {
    const { all, first } = statistics.shareOf(word)
    // By name, the plants whose names begin with the only word are a range of the order, and are not listed.
    const isRange = isByName(order) && words.length === 1 && !hasTag
    const known = Math.max(RARE, isRange ? all - first : all)
    const listed = statistics.hasWords ? known : Math.max(0.5, hits) / seen
    entries += statistics.plants * listed * (statistics.isFrequent(word) ? COST.whole : COST.entry)
    if (words.length === 1) weight = all === 0 ? WEIGHT.unlisted : isTag ? WEIGHT.inTag : WEIGHT.word
    share *= listed
  }
  // Frequent words may be those that no plant has together, so the hits tell more than the shares.
  if (words.length > 0) plants *= statistics.hasWords ? (hits + weight * share) / (seen + weight) : share
  const cost = {
    walk: isTag ? Math.min(walked, tagged) * COST.inTag : walked * (isByName(order) ? COST.far : COST.near),
    set: entries + plants * COST.plant + (hasTag && !isAnyTag ? tagged * COST.tagged : 0),
  }
  return { cost, plants, further: Math.max(limit, Math.ceil(walked * SAFETY)) }
}
