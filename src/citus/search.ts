import { hasFilter, isByName } from '../domain/plant-query.ts'
import type { Find } from '../postgres/read/search.ts'
import { conditionsOf, isAfter, ordering, Sources, where } from '../postgres/read/search-conditions.ts'
import { SearchStatistics } from '../postgres/read/search-statistics.ts'
import { plantOf } from '../postgres/rows.ts'

/** Plants in the first walk, of which every shard sends as many to the coordinator. */
const FIRST_WALK = 500
/** The coordinator has no statistics of the plants of other servers. */
const NONE = new SearchStatistics()

/**
 * Finds the first plants of a query where Citus distributes them (docs/decisions/0030-shards.md). Citus passes each of
 * these statements on to the shards with its limit. A statement with parts that have limits, as one server gets, it runs
 * part by part, and collects on the coordinator all that each part reads.
 *
 * A search walks the first plants in order. Where these do not fill the page, each shard sorts all plants that its
 * indexes have for the filter: an order that no index has leaves the planner of the shard no walk that may be long.
 */
export const findOnShards: Find = async (run, query, limit) => {
  const sources = new Sources(query, NONE)
  if (sources.isEmpty) return []
  const { order, after, words } = sources.query
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const isPage = words.length === 0 && (sources.isOneTag || !hasFilter(query))
  const size = isPage ? limit : Math.max(FIRST_WALK, limit)
  const { rows } = await run({ text: `${sources.walk(parameter)} LIMIT ${parameter(size)}`, values })
  const hits = rows.filter(([, , , , hit]) => hit === 't')
  if (hits.length >= limit || rows.length < size) return hits.slice(0, limit).map(plantOf)
  values.length = 0
  const conditions = conditionsOf(query, parameter)
  if (after !== undefined) conditions.push(isAfter(order, after, parameter))
  // By id, a long walk takes an eighth of one by name (COST of src/postgres/read/search.ts), so the planner may choose it.
  const sorted = isByName(order) || hits.length === 0 ? ordering(order).replace(/^\w+/, HIDDEN) : ordering(order)
  const text = `SELECT id, name, tag FROM plants ${where(conditions)} ORDER BY ${sorted} LIMIT ${parameter(limit)}`
  return (await run({ text, values })).rows.map(plantOf)
}

/** The same order, which no index has. */
const HIDDEN = 'coalesce($&, $&)'
