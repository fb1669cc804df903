import type { NewPlant } from '../plant.ts'
import {
  isByName,
  isDescending,
  matches,
  PAGE_TEXT,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
} from '../plant-query.ts'
import type { TagCount } from '../store.ts'
import { bigintArray } from './arrays.ts'
import type { Budget } from './budget.ts'
import type { Run, Statement } from './connection.ts'
import type { Connections } from './connections.ts'
import { plantOf, wordQuery } from './rows.ts'

/** The part of a tag that is indexed (sql/postgres/000001.sql), and the same of a tag that is asked for. */
const TAG_KEY = 'left(tag, 128)'
const tagKey = (tag: string): string => (tag.length <= 128 ? tag : Array.from(tag).slice(0, 128).join(''))
/** PostgreSQL takes no U+0000. No plant has one, so only a made-up cursor holds it, which may lead anywhere. */
const storable = (text: string): string => text.replaceAll('\0', '\u0001')

const SELECTS = {
  plants: 'SELECT id, name, tag FROM plants WHERE id = ANY ($1::bigint[])',
  tried: 'SELECT id, name, tag FROM tried WHERE id = ANY ($1::bigint[])',
}

/** Plants by their ids, in any order. */
export async function selectPlants(
  run: Run,
  wanted: readonly { readonly id: bigint }[],
  from: keyof typeof SELECTS = 'plants',
): Promise<NewPlant[]> {
  if (wanted.length === 0) return []
  const values = [bigintArray(wanted.map(({ id }) => id))]
  return (await run({ name: `select-${from}`, text: SELECTS[from], values })).rows.map(plantOf)
}

/** The plant of each id; undefined where there is none. */
export async function getPlants(run: Run, ids: readonly bigint[]): Promise<(NewPlant | undefined)[]> {
  const found = await selectPlants(
    run,
    ids.map((id) => ({ id })),
  )
  const byId = new Map(found.map((plant) => [plant.id, plant]))
  return ids.map((id) => byId.get(id))
}

/** See Store.listPlants. */
export async function listPlants(
  connections: Connections,
  query: PlantQuery,
  limit: number,
  budget: Budget,
): Promise<NewPlant[]> {
  const { rows } = await connections.run(listStatement(query, limit), budget)
  const found = rows.map(plantOf).filter((plant) => matches(query, plant))
  if (found.length === rows.length || !isFull(rows.map(plantOf), limit)) return found
  // The index has found too many, and what they took the place of is read from the same moment as they.
  return connections.transaction(
    'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
    (run) => fill(run, query, limit),
    budget,
  )
}

async function fill(run: Run, query: PlantQuery, limit: number): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after; ; ) {
    const { rows } = await run(listStatement({ ...query, after }, limit))
    const page = rows.map(plantOf)
    found.push(...page.filter((plant) => matches(query, plant)))
    const last = page.at(-1)
    if (last === undefined || isFull(found, limit) || !isFull(page, limit)) return found.slice(0, limit)
    after = positionOf(query.order, last)
  }
}

/** See Store.listTags. */
export async function listTags(run: Run, after: string | undefined, limit: number): Promise<TagCount[]> {
  const { rows } = await run({
    // The first condition and the first column are what the index has; the second ones are about tags longer than that.
    text: `SELECT tag, count(*) FROM plants
      WHERE tag IS NOT NULL ${after === undefined ? '' : `AND ${TAG_KEY} >= left($2::text, 128) AND tag > $2`}
      GROUP BY ${TAG_KEY}, tag ORDER BY ${TAG_KEY}, tag LIMIT $1`,
    values: after === undefined ? [limit] : [limit, storable(after)],
  })
  return rows.map(([tag, plants]) => ({ tag: tag ?? '', plants: Number(plants) }))
}

/**
 * Bytes of text with which a page may end, behind one more plant. PostgreSQL knows the bytes of a text without reading it,
 * and three bytes of UTF-8 are at least one UTF-16 unit; so it has no fewer units than PAGE_TEXT then.
 */
const PAGE_BYTES = 3 * PAGE_TEXT

/** Whether there may be more behind these plants, which is where they end a page. */
function isFull(plants: readonly NewPlant[], limit: number): boolean {
  if (plants.length >= limit) return true
  let bytes = 0
  for (const { name, tag } of plants.slice(0, -1)) bytes += Buffer.byteLength(name) + Buffer.byteLength(tag ?? '')
  return bytes >= PAGE_BYTES
}

/** A page of plants. The innermost part alone goes through the store, up to the limit. */
function listStatement({ order, after, ...filter }: PlantQuery, limit: number): Statement {
  const { text, values, ordering } = selectStatement(filter, order, after)
  return {
    text: `SELECT id, name, tag FROM (
      SELECT *, sum(octet_length(name) + coalesce(octet_length(tag), 0))
        OVER (ORDER BY ${ordering} ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS bytes_before
      FROM (${text} LIMIT $${values.length + 1}) AS page) AS measured
    WHERE bytes_before IS NULL OR bytes_before < ${PAGE_BYTES} ORDER BY ${ordering}`,
    values: [...values, limit],
  }
}

/** The plants that a filter means, and perhaps a few more, in an order: rows that begin with id, name and tag. */
export function selectStatement(
  { tags, words }: PlantFilter,
  order: PlantOrder,
  after: Position | undefined,
): { text: string; values: unknown[]; ordering: string } {
  const conditions: string[] = []
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  if (tags.length > 0) {
    const possible = tags.filter((tag) => !tag.includes('\0'))
    conditions.push(`${TAG_KEY} = ANY (${parameter(possible.map(tagKey))}::text[])`)
    conditions.push(`tag = ANY (${parameter(possible)}::text[])`)
  }
  if (words.length > 0) conditions.push(`words @@ ${parameter(wordQuery(words))}::tsquery`)
  const [sign, direction] = isDescending(order) ? ['<', 'DESC'] : ['>', 'ASC']
  const columns = isByName(order) ? ['sort_key', 'id'] : ['id']
  if (after !== undefined) {
    const place = isByName(order) ? [parameter(storable(after.key)), parameter(after.id)] : [parameter(after.id)]
    conditions.push(`(${columns.join(', ')}) ${sign} (${place.join(', ')})`)
  }
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const ordering = columns.map((each) => `${each} ${direction}`).join(', ')
  const sortKey = isByName(order) ? ', sort_key' : ''
  return { text: `SELECT id, name, tag${sortKey} FROM plants ${where} ORDER BY ${ordering}`, values, ordering }
}
