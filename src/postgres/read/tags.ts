import { inTurns } from '../../base/time-slice.ts'
import { endOfPrefix, isListed, type TagQuery } from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { wordQuery } from '../search-terms.ts'
import { type Parameter, storable } from './search-conditions.ts'
import type { StatisticsCache } from './search-statistics.ts'
import { COUNTS_OF, countedTags, firstTags, tagsOfPlants } from './tags-sql.ts'

/** Tags that one statement of a walk reads, where the first ones do not fill the page. */
const WALKED = 2000
/** Plants with the words of which one statement reads the tags, at most. */
const MAX_PLANTS = 20_000

/**
 * Lists the first tags of a query. One with words looks at the first tags, then at the tags of all plants with the words
 * if these are few, and else at all other tags. Among ten million plants, to find that two million have a word took 2 s.
 */
export async function listTags(run: Run, query: TagQuery, limit: number, kept: StatisticsCache): Promise<TagCount[]> {
  const { words = [], prefix = '' } = query
  if (prefix.includes('\0')) return []
  if (words.length === 0) return countsBehind(run, query, limit)
  const statistics = await kept.current(run)
  let mayBeFew = words.some((word) => statistics.shareOf(word).all * statistics.plants <= MAX_PLANTS)
  const found: TagCount[] = []
  for (let after = query.after, size = limit; ; size = WALKED) {
    const page = await countsBehind(run, { ...query, after }, size)
    found.push(...(await selected(query, page)))
    if (found.length >= limit || page.length < size) return found.slice(0, limit)
    after = page.at(-1)?.tag
    if (!mayBeFew || size < WALKED) continue
    mayBeFew = false
    const few = await tagsOfWords(run, query)
    if (few !== undefined) return countsOf(run, few, limit)
  }
}

/** The condition of a query without its words. */
function selecting({ prefix, after }: TagQuery, parameter: Parameter): string {
  const conditions = ['tag IS NOT NULL']
  if (after !== undefined) conditions.push(`tag > ${parameter(storable(after))}`)
  if (prefix !== undefined) {
    const end = endOfPrefix(prefix)
    conditions.push(`tag >= ${parameter(prefix)}`, ...(end === undefined ? [] : [`tag < ${parameter(end)}`]))
  }
  return conditions.join(' AND ')
}

async function countsBehind(run: Run, query: TagQuery, limit: number): Promise<TagCount[]> {
  const values: unknown[] = [limit]
  const where = selecting(query, (value) => `$${values.push(value)}`)
  return countsIn((await run({ text: firstTags(where), values })).rows)
}

/** Returns the tags of a query among those of all plants with its words; undefined if these are more than MAX_PLANTS. */
async function tagsOfWords(run: Run, query: TagQuery): Promise<string[] | undefined> {
  const values: unknown[] = [MAX_PLANTS + 1]
  const { rows } = await run({ text: tagsOfPlants(selectingPlants(query, values)), values })
  if (Number(rows[0]?.[1] ?? 0) > MAX_PLANTS) return undefined
  return (await selected(query, countsIn(rows))).map(({ tag }) => tag)
}

/** Lists the first tags of a query by the plants alone. */
export async function listCountedTags(run: Run, query: TagQuery, limit: number): Promise<TagCount[]> {
  if ((query.prefix ?? '').includes('\0')) return []
  const found: TagCount[] = []
  for (let after = query.after; ; ) {
    const values: unknown[] = [limit]
    const text = countedTags(selectingPlants({ ...query, after }, values))
    const page = countsIn((await run({ text, values })).rows)
    found.push(...(await selected(query, page)))
    if (found.length >= limit || page.length < limit) return found.slice(0, limit)
    after = page.at(-1)?.tag
  }
}

/** The condition of a query on plants, of whose words the index knows a part. */
function selectingPlants(query: TagQuery, values: unknown[]): string {
  const parameter = (value: unknown) => `$${values.push(value)}`
  const { words = [] } = query
  const where = selecting(query, parameter)
  return words.length === 0 ? where : `${where} AND words @@ ${parameter(wordQuery(words))}::tsquery`
}

const countsOf = async (run: Run, tags: readonly string[], limit: number): Promise<TagCount[]> =>
  countsIn((await run({ text: COUNTS_OF, values: [limit, tags] })).rows)

async function selected(query: TagQuery, tags: readonly TagCount[]): Promise<TagCount[]> {
  const isFound = await inTurns(tags, ({ tag }) => isListed(query, tag))
  return tags.filter((_, i) => isFound[i])
}

const countsIn = (rows: readonly TextRow[]): TagCount[] =>
  rows.map(([tag, plants]) => ({ tag: tag ?? '', plants: Number(plants) }))
