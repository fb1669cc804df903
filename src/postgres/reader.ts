import type { NewPlant } from '../plant.ts'
import {
  isByName,
  isDescending,
  matches,
  type PlantFilter,
  type PlantOrder,
  type PlantQuery,
  type Position,
  positionOf,
} from '../plant-query.ts'
import type { TagCount } from '../store.ts'
import { bigintArray } from './arrays.ts'
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

/** See Store.listPlants. */
export async function listPlants(connections: Connections, query: PlantQuery, limit: number): Promise<NewPlant[]> {
  const { rows } = await connections.run(listStatement(query, limit))
  const found = rows.map(plantOf).filter((plant) => matches(query, plant))
  if (found.length === rows.length || rows.length < limit) return found
  // The index has found too many, and what they took the place of is read from the same moment as they.
  return connections.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', (run) => fill(run, query, limit))
}

async function fill(run: Run, query: PlantQuery, limit: number): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after; ; ) {
    const { rows } = await run(listStatement({ ...query, after }, limit))
    const page = rows.map(plantOf)
    found.push(...page.filter((plant) => matches(query, plant)))
    const last = page.at(-1)
    if (found.length >= limit || last === undefined || page.length < limit) return found.slice(0, limit)
    after = positionOf(query.order, last)
  }
}

/** See Store.listTags. */
export async function listTags({ run }: Connections, after: string | undefined, limit: number): Promise<TagCount[]> {
  const { rows } = await run({
    // The first condition and the first column are what the index has; the second ones are about tags longer than that.
    text: `SELECT tag, count(*) FROM plants
      WHERE tag IS NOT NULL ${after === undefined ? '' : `AND ${TAG_KEY} >= left($2::text, 128) AND tag > $2`}
      GROUP BY ${TAG_KEY}, tag ORDER BY ${TAG_KEY}, tag LIMIT $1`,
    values: after === undefined ? [limit] : [limit, storable(after)],
  })
  return rows.map(([tag, plants]) => ({ tag: tag ?? '', plants: Number(plants) }))
}

function listStatement({ order, after, ...filter }: PlantQuery, limit: number): Statement {
  const { text, values } = selectStatement(filter, order, after)
  return { text: `${text} LIMIT $${values.length + 1}`, values: [...values, limit] }
}

/** The plants that a filter means, and perhaps a few more, in an order. */
export function selectStatement(
  { tags, words }: PlantFilter,
  order: PlantOrder,
  after: Position | undefined,
): { text: string; values: unknown[] } {
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
  const text = `SELECT id, name, tag FROM plants ${where} ORDER BY ${columns.map((each) => `${each} ${direction}`).join(', ')}`
  return { text, values }
}
