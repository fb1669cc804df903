import type { NewPlant } from '../../domain/plant.ts'
import { isByName, type PlantQuery } from '../../domain/plant-query.ts'
import type { Run } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { type Facts, waysOf, wordsToAsk } from './search-costs.ts'
import { type SourceGroup, Sources } from './search-sources.ts'
import {
  everything,
  resultOf,
  type Step,
  type StepResult,
  statementOf,
  walkResultOf,
  walkStatement,
} from './search-statement.ts'
import type { SearchStatistics } from './search-statistics.ts'

/** Plants in the first walk, which counts words. By id plants lie together on disk, by name and by tag anywhere. */
const FIRST = { id: 2000, name: 1000, tag: 500 }
/** Maximum number of names that begin with a word, in a step by estimates. */
const RANGE = 6000
/**
 * Maximum numbers of names that begin with a word, of plants in a window, and of plants in a set, in each later round.
 */
const ROUNDS = [
  { range: 20_000, window: 200_000, set: 20_000 },
  { range: 200_000, window: 1_000_000, set: 200_000 },
]

/**
 * Finds the first plants of a query, from one snapshot. The index of words may add a few plants that do not match.
 *
 * The best index depends on the number of plants with the words and tags, and on their positions in the order. The
 * planner would have to guess both. So the search counts the hits among the first plants, and estimates the costs of
 * each way by this count and the statistics. It tries the cheapest way with a bound, then the others, and at last all
 * sources with growing bounds. The settings of the session (src/postgres/pool/client.ts) leave each statement one plan.
 */
export async function search(
  run: Run,
  query: PlantQuery,
  limit: number,
  statistics: SearchStatistics,
): Promise<readonly NewPlant[]> {
  const sources = new Sources(query, statistics)
  if (sources.isEmpty) return []
  const take = async (step: Step): Promise<StepResult> => resultOf(await run(statementOf(query, step)), step)
  const first = FIRST[query.tags.length === 1 ? 'tag' : isByName(query.order) ? 'name' : 'id']
  const start = await take({
    sources: [sources.walk],
    walk: Math.max(first, limit),
    page: limit,
    words: sources.eachWord,
  })
  if (start.isRight) return start.rows
  let facts: Facts = { ...start, limit, statistics }
  const all = sources.query.words
  const asked = wordsToAsk(sources.query, facts)
  const tried = new Set<string>()
  for (;;) {
    const way = waysOf(sources.query, facts).find(({ kind }) => !tried.has(kind))
    if (way === undefined) break
    tried.add(way.kind)
    if (way.kind === 'walk') {
      const result = walkResultOf(await run(walkStatement(query, sources.walk, way.bound, limit)), way.bound, limit)
      if (result.isRight) return result.rows
      facts = { ...facts, seen: result.seen, hits: result.hits, words: [] }
      continue
    }
    // More plants than expected may have the rarest words, such as a number, whose beginning no statistics list. A set by
    // all words then ends the search before a window counts a large part of the order.
    for (const words of way.kind === 'set' && asked.length < all.length ? [asked, all] : [asked]) {
      sources.ask(words)
      for (const { sources: some, isWindowed } of groupsOf(sources, way.kind === 'window')) {
        const bounds = isWindowed ? { set: way.bound, window: way.bound } : { set: way.bound }
        const result = await take({ sources: some, page: limit, walk: RANGE, ...bounds })
        if (result.isRight) return result.rows
      }
    }
  }
  sources.ask(all)
  for (const { range, window, set } of ROUNDS) {
    const windows = query.tags.length === 0 && statistics.hasWindows(query.order) ? groupsOf(sources, true) : []
    const parts = all.length > 1 ? sources.inParts() : []
    for (const { sources: some, isWindowed } of [...windows, ...parts, ...groupsOf(sources, false)]) {
      const result = await take({ sources: some, page: limit, walk: range, set, ...(isWindowed ? { window } : {}) })
      if (result.isRight) return result.rows
    }
  }
  return (await run(everything(query, limit))).rows.map(plantOf)
}

/** Returns groups that each find all plants of the query, or all of them in a window. */
function groupsOf(sources: Sources, isWindowed: boolean): readonly SourceGroup[] {
  const { order, words } = sources.query
  if (words.length === 0) return sources.byTags()
  return isByName(order) && words.length === 1 ? sources.inParts(isWindowed) : sources.byWords(isWindowed)
}
