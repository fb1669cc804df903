import { createHash } from 'node:crypto'
import type { NewPlant } from '../../plant.ts'
import { isByName, PAGE_TEXT, type PlantQuery } from '../../plant-query.ts'
import type { Run, Statement } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { everything, ordering, type Source, Sources } from './search-sources.ts'

/** Plants in the first walk. By id they lie together on disk, by name anywhere. */
const FIRST = { id: 2500, name: 1000 }
/** Most plants in a walk, and in a set, in the following rounds. */
const ROUNDS = [
  { id: 12_000, name: 6000, set: 20_000 },
  { id: 200_000, name: 100_000, set: 200_000 },
]
/**
 * The index is not asked for words this many times as frequent as the rarest one: a plant costs about 15 times as much
 * to read as its entry.
 */
const COMMON = 15
/**
 * In the order of names, a word counts as common from this share of the plants seen: it may be rare in the first names,
 * and frequent in the others.
 */
const COMMON_BY_NAME = 0.1
/** A walk may need this many times the expected plants. */
const SAFETY = 1.5

/**
 * Bytes of text after which a page ends, with one extra plant. PostgreSQL knows the bytes of a text without reading it.
 * Three bytes of UTF-8 are at least one UTF-16 unit, so such a page has at least PAGE_TEXT units.
 */
export const PAGE_BYTES = 3 * PAGE_TEXT

/** Most plants of a source that is walked, of a source that is a set, and of the page. */
interface Bounds {
  readonly walk: number
  readonly set: number
  readonly page: number
}

interface SearchRound {
  readonly rows: readonly NewPlant[]
  /** Plants of the first source, its hits, and for each word asked for the plants that have it. */
  readonly seen: number
  readonly hits: number
  readonly words: readonly number[]
  /** Whether these are the first plants of the query, so that the search is over. */
  readonly isRight: boolean
}

/**
 * The first plants of a query, from one snapshot. The index of words may add a few plants that do not match.
 *
 * The best index depends on how many plants have the words and tags, and on their positions in the order. The planner
 * would have to guess both. Instead the search follows each source for a bounded number of plants, and for ten times as
 * many in the next round, until one source fills the page. That takes a few times as long as the best source alone. The
 * settings of the session (src/postgres/pool/client.ts) leave each statement one plan.
 */
export async function search(run: Run, query: PlantQuery, limit: number): Promise<readonly NewPlant[]> {
  const sources = new Sources(query)
  if (sources.isEmpty) return []
  const by = isByName(query.order) ? 'name' : 'id'
  const follow = async (some: readonly Source[], bounds: Bounds, words: readonly string[] = []): Promise<SearchRound> =>
    roundOf(await run(statement(query, some, bounds, words)), some, bounds)
  const walk = (walked: number, words?: readonly string[]) =>
    follow([sources.walk], { walk: walked, set: 0, page: limit }, words)
  let last = await walk(Math.max(FIRST[by], limit), sources.eachWord)
  if (last.isRight) return last.rows
  const common = by === 'id' ? (Math.min(...last.words) + 1) * COMMON : last.seen * COMMON_BY_NAME
  const sets = sources.sets(last.words.map((hits) => hits > common))
  for (const round of ROUNDS) {
    // The plants that a walk needs if hits stay as frequent as in the last one.
    const expected = Math.ceil((limit * SAFETY * last.seen) / last.hits)
    const bound = Math.min(round[by], Math.max(expected, limit))
    const mayWalk = expected <= round[by]
    if (mayWalk) last = await walk(bound)
    if (last.isRight) return last.rows
    for (const set of sets) {
      const result = await follow(set, { walk: round[by] / 4, set: round.set, page: limit })
      if (result.isRight) return result.rows
    }
    if (!mayWalk) last = await walk(bound)
    if (last.isRight) return last.rows
  }
  return (await run(named(page(everything(query), query, limit)))).rows.map(plantOf)
}

function statement(query: PlantQuery, sources: readonly Source[], bounds: Bounds, words: readonly string[]): Statement {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const each = words.map((word, i) => `, words @@ ${parameter(word)}::tsquery AS word${i}`).join('')
  const parts = sources.map((source, i) => {
    const whole = source.text(parameter, each)
    // One extra row tells that the set is larger than its bound.
    const count = parameter(boundOf(source, bounds) + (source.isSet ? 1 : 0))
    return `s${i} AS MATERIALIZED (${whole} LIMIT ${count})`
  })
  const counts = sources.flatMap((_, i) => [
    `(SELECT count(*) FROM s${i}) AS seen${i}`,
    `(SELECT count(*) FROM s${i} WHERE hit) AS hits${i}`,
  ])
  counts.push(...words.map((_, i) => `(SELECT count(*) FROM s0 WHERE word${i}) AS words${i}`))
  const all = sources.map((_, i) => `SELECT id, name, tag, sort_key FROM s${i} WHERE hit`).join(' UNION ALL ')
  const inner = page({ text: `SELECT * FROM (${all}) AS hits`, values }, query, bounds.page)
  return named({
    text: `WITH ${parts.join(', ')} SELECT p.id, p.name, p.tag, c.* FROM (SELECT ${counts.join(', ')}) AS c
      LEFT JOIN (${inner.text}) AS p ON true ORDER BY ${ordering(query.order, 'p.')}`,
    values: inner.values,
  })
}

const boundOf = ({ isSet, isExact }: Source, { walk, set, page }: Bounds): number =>
  isSet ? set : isExact ? page : Math.max(walk, page)

/** A page of the rows of a statement. */
function page(
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
  query: PlantQuery,
  limit: number,
): { text: string; values: readonly unknown[] } {
  return {
    text: `SELECT id, name, tag, sort_key FROM (
        SELECT *, sum(octet_length(name) + coalesce(octet_length(tag), 0))
          OVER (ORDER BY ${ordering(query.order)} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS bytes_before
        FROM (${text} ORDER BY ${ordering(query.order)} LIMIT $${values.length + 1}) AS page) AS measured
      WHERE bytes_before IS NULL OR bytes_before < ${PAGE_BYTES} ORDER BY ${ordering(query.order)}`,
    values: [...values, limit],
  }
}

/** Names a statement, so that the server keeps its plan. There are some dozens of texts. */
const named = (statement: { text: string; values: readonly unknown[] }): Statement => ({
  ...statement,
  name: createHash('sha1').update(statement.text).digest('hex'),
})

function roundOf(
  { rows }: { readonly rows: readonly (readonly (string | null)[])[] },
  sources: readonly Source[],
  bounds: Bounds,
): SearchRound {
  const [, , , ...counts] = (rows[0] ?? []).map(Number)
  // A walk that reached its bound holds the first plants in order; a set that reached its bound holds any plants.
  const isRight = sources.every((source, i) => {
    const [seen = 0, hits = 0] = counts.slice(2 * i)
    return source.isSet ? seen <= bounds.set : seen < boundOf(source, bounds) || hits >= bounds.page
  })
  return {
    rows: rows[0]?.[0] == null ? [] : rows.map(plantOf),
    seen: counts[0] ?? 0,
    hits: counts[1] ?? 0,
    words: counts.slice(2 * sources.length),
    isRight,
  }
}
