import type { NewPlant } from '../../plant.ts'
import { matches, type PlantFilter, type PlantOrder, type PlantQuery, positionOf } from '../../plant-query.ts'
import type { TagCount } from '../../store.ts'
import { bigintArray } from '../binary-arrays.ts'
import type { Budget } from '../pool/budget.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { plantOf, wordQuery } from '../rows.ts'
import { PAGE_BYTES, search } from './search.ts'
import { ordering, storable, storableTags, TAG_KEY, tagIsOneOf } from './search-sources.ts'

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
  share: PoolShare,
  query: PlantQuery,
  limit: number,
  budget: Budget,
): Promise<NewPlant[]> {
  const rows = await share.with((run) => search(run, query, limit), budget)
  const found = rows.filter((plant) => matches(query, plant))
  if (found.length === rows.length || !isFull(rows, limit)) return found
  // The index has found too many, and what they took the place of is read from the same moment as they.
  return share.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', (run) => fill(run, query, limit), budget)
}

async function fill(run: Run, query: PlantQuery, limit: number): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after; ; ) {
    const page = await search(run, { ...query, after }, limit)
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

/** Whether there may be more behind these plants, which is where they end a page. */
function isFull(plants: readonly NewPlant[], limit: number): boolean {
  if (plants.length >= limit) return true
  let bytes = 0
  for (const { name, tag } of plants.slice(0, -1)) bytes += Buffer.byteLength(name) + Buffer.byteLength(tag ?? '')
  return bytes >= PAGE_BYTES
}

/** All plants that a filter means, and perhaps a few more, in an order: rows that begin with id, name and tag. */
export function selectStatement({ tags, words }: PlantFilter, order: PlantOrder): { text: string; values: unknown[] } {
  const conditions: string[] = []
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  if (tags.length > 0) conditions.push(...tagIsOneOf(storableTags(tags), parameter))
  if (words.length > 0) conditions.push(`words @@ ${parameter(wordQuery(words))}::tsquery`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return { text: `SELECT id, name, tag FROM plants ${where} ORDER BY ${ordering(order)}`, values }
}
