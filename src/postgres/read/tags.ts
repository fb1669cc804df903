import { inTurns } from '../../base/time-slice.ts'
import { endOfPrefix, isListed, type TagQuery } from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { wordQuery } from '../search-terms.ts'
import { type Parameter, storable } from './search-conditions.ts'

/** Tags that one statement of a walk reads, where the first ones do not fill the page. */
const WALKED = 2000
/** Plants with the words of which one statement reads the tags, at most. */
const MAX_PLANTS = 20_000

/**
 * Lists the first tags of a query. One with words looks at the first tags, then at the tags of all plants with the words
 * if these are few, and else at all other tags.
 */
export async function listTags(run: Run, query: TagQuery, limit: number): Promise<TagCount[]> {
  const { words = [], prefix = '' } = query
  if (prefix.includes('\0')) return []
  if (words.length === 0) return countsBehind(run, query, limit)
  const found: TagCount[] = []
  for (let after = query.after, size = limit; ; size = WALKED) {
    const page = await countsBehind(run, { ...query, after }, size)
    found.push(...(await selected(query, page)))
    if (found.length >= limit || page.length < size) return found.slice(0, limit)
    const few = after === query.after ? await tagsOfWords(run, query) : undefined
    if (few !== undefined) return countsOf(run, few, limit)
    after = page.at(-1)?.tag
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

/** A change may remove the last plant of a tag, so the statement reads one more tag for each changed tag. */
async function countsBehind(run: Run, query: TagQuery, limit: number): Promise<TagCount[]> {
  const values: unknown[] = [limit]
  const where = selecting(query, (value) => `$${values.push(value)}`)
  const text = `WITH
      changed AS MATERIALIZED (SELECT tag, sum(plants) AS plants FROM tag_changes WHERE ${where} GROUP BY tag),
      counted AS (SELECT tag, plants FROM tag_counts WHERE ${where} ORDER BY tag
        LIMIT $1::bigint + (SELECT count(*) FROM changed))
    SELECT tag, sum(plants) FROM (TABLE counted UNION ALL TABLE changed) AS each
      GROUP BY tag HAVING sum(plants) > 0 ORDER BY tag LIMIT $1`
  return countsIn((await run({ text, values })).rows)
}

/** Returns the tags of a query among those of all plants with its words; undefined if these are more than MAX_PLANTS. */
async function tagsOfWords(run: Run, query: TagQuery): Promise<string[] | undefined> {
  const values: unknown[] = [wordQuery(query.words ?? [])]
  const where = selecting(query, (value) => `$${values.push(value)}`)
  const text = `WITH found AS MATERIALIZED
      (SELECT tag FROM plants WHERE words @@ $1::tsquery AND ${where} LIMIT ${MAX_PLANTS + 1})
    SELECT DISTINCT tag, (SELECT count(*) FROM found) FROM found`
  const { rows } = await run({ text, values })
  if (Number(rows[0]?.[1] ?? 0) > MAX_PLANTS) return undefined
  return (await selected(query, countsIn(rows))).map(({ tag }) => tag)
}

/** Lists the first tags of a query by the plants alone: those with the words of a tag are all of its plants. */
export async function listCountedTags(run: Run, query: TagQuery, limit: number): Promise<TagCount[]> {
  const { words = [], prefix = '' } = query
  if (prefix.includes('\0')) return []
  const found: TagCount[] = []
  for (let after = query.after; ; ) {
    const values: unknown[] = [limit]
    const parameter = (value: unknown) => `$${values.push(value)}`
    const where = selecting({ ...query, after }, parameter)
    const ofWords = words.length === 0 ? '' : ` AND words @@ ${parameter(wordQuery(words))}::tsquery`
    const text = `SELECT tag, count(*) FROM plants WHERE ${where}${ofWords} GROUP BY tag ORDER BY tag LIMIT $1`
    const page = countsIn((await run({ text, values })).rows)
    found.push(...(await selected(query, page)))
    if (found.length >= limit || page.length < limit) return found.slice(0, limit)
    after = page.at(-1)?.tag
  }
}

async function countsOf(run: Run, tags: readonly string[], limit: number): Promise<TagCount[]> {
  const text = `SELECT tag, sum(plants) FROM (TABLE tag_counts UNION ALL TABLE tag_changes) AS each
    WHERE tag = ANY ($1::text[]) GROUP BY tag HAVING sum(plants) > 0 ORDER BY tag LIMIT $2`
  return countsIn((await run({ text, values: [tags, limit] })).rows)
}

async function selected(query: TagQuery, tags: readonly TagCount[]): Promise<TagCount[]> {
  const isFound = await inTurns(tags, ({ tag }) => isListed(query, tag))
  return tags.filter((_, i) => isFound[i])
}

const countsIn = (rows: readonly TextRow[]): TagCount[] =>
  rows.map(([tag, plants]) => ({ tag: tag ?? '', plants: Number(plants) }))
