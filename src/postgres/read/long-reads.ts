import type { NewPlant } from '../../plant.ts'
import { matches, type PlantFilter, type PlantOrder } from '../../plant-query.ts'
import { budgetOf } from '../pool/budget.ts'
import { type Client, PLANNER_SETTINGS, type Run } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { wordQuery } from '../search-terms.ts'
import { ordering, storableTags, tagIsOneOf } from './search-sources.ts'

/** How long one step may take, in ms: a filter may skip many plants until it finds one. */
const STEP = 10 * 60_000
/** Plants in one chunk: at most, at first, and as many later as have about so many UTF-16 units of text. */
const CHUNK = 1000
const FIRST_CHUNK = 100
const CHUNK_TEXT = 4 * 2 ** 20

/**
 * All plants of a filter, from one moment on, on a connection that nobody else uses meanwhile. The transaction is left
 * open; ending the connection ends it.
 */
export async function* exported(
  client: Client,
  filter: PlantFilter,
  order: PlantOrder,
  signal?: AbortSignal,
): AsyncGenerator<readonly NewPlant[], void, void> {
  const run = await beginLongRead(client, signal)
  // All of it will be read, so the fastest plan for all of it is wanted, and not for the first rows.
  await run({ text: 'SET LOCAL cursor_tuple_fraction = 1' })
  const { text, values } = selectStatement(filter, order)
  await run({ text: `DECLARE export NO SCROLL CURSOR FOR ${text}`, values })
  for (let size = FIRST_CHUNK; ; ) {
    const { rows } = await run({ text: `FETCH ${size} FROM export` })
    if (rows.length === 0) return
    const plants = rows.map(plantOf)
    const meant = plants.filter((plant) => matches(filter, plant))
    if (meant.length > 0) yield meant
    const text = plants.reduce((sum, { name, tag }) => sum + name.length + (tag?.length ?? 0), 0)
    size = Math.max(1, Math.min(CHUNK, Math.floor((CHUNK_TEXT * plants.length) / (text + 1))))
  }
}

/** All plants that a filter means, and perhaps a few more, in an order: rows that begin with id, name and tag. */
function selectStatement({ tags, words }: PlantFilter, order: PlantOrder): { text: string; values: unknown[] } {
  const conditions: string[] = []
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  if (tags.length > 0) conditions.push(...tagIsOneOf(storableTags(tags), parameter))
  if (words.length > 0) conditions.push(`words @@ ${parameter(wordQuery(words))}::tsquery`)
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return { text: `SELECT id, name, tag FROM plants ${where} ORDER BY ${ordering(order)}`, values }
}

/** How many plants there are, on such a connection as `exported` needs. */
export async function countPlants(client: Client): Promise<number> {
  const run = await beginLongRead(client)
  const { rows } = await run({ text: 'SELECT count(*) FROM plants' })
  return Number(rows[0]?.[0])
}

/** Between two chunks it also waits for whoever takes them, slowly perhaps. */
async function beginLongRead(client: Client, signal?: AbortSignal): Promise<Run> {
  const run: Run = (statement) => client.run(statement, budgetOf(STEP, signal))
  await run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' })
  await run({
    text: `SET LOCAL statement_timeout = ${STEP}; SET LOCAL idle_in_transaction_session_timeout = ${STEP};
      ${PLANNER_SETTINGS.map(([name]) => `SET LOCAL ${name} TO DEFAULT`).join(';')}`,
  })
  return run
}
