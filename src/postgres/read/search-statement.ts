import { createHash } from 'node:crypto'
import type { NewPlant } from '../../domain/plant.ts'
import type { PlantOrder } from '../../domain/plant-query.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import type { Sources, Within } from './search-conditions.ts'
import { type Reading, searchStatement, setReading, walkReading } from './search-sql.ts'

/** The result of one step of a search. Its only statement has one snapshot. */
interface StepResult {
  readonly rows: readonly NewPlant[]
  /** Whether the rows are the first plants of the query, so that the search ends. */
  readonly isRight: boolean
}

/** Walks at most `bound` plants in order, and ends at the last hit of the page. */
export async function walk(
  run: Run,
  sources: Sources,
  bound: number,
  page: number,
): Promise<StepResult & { readonly seen: number; readonly hits: number }> {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const [walked, path, end] = [sources.walk(parameter), sources.path(parameter), parameter(bound)]
  const reading = walkReading(sources.query.order, { walked, path, end, full: parameter(page) })
  const { rows, counted } = await ask(run, sources.query.order, reading, values, page)
  const [found = 0, further = 0] = counted.map(Number)
  return { rows, seen: bound, hits: found, isRight: found >= page || further === 0 }
}

/**
 * Reads a set of plants that has all hits, and sorts them.
 *
 * @param bound of the plants in the set, or Infinity
 * @param within where the plants are that it has to read; undefined for anywhere
 * @returns for a set that exceeds its bound, also the characters with which names in it begin
 */
export async function set(
  run: Run,
  sources: Sources,
  bound: number,
  page: number,
  within?: Within,
): Promise<StepResult & { readonly starts: string }> {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const all = sources.set(parameter, within)
  // One extra row shows that the set exceeds its bound.
  const end = parameter(bound === Infinity ? null : bound + 1)
  const full = bound === Infinity ? parameter(page) : undefined
  const range = sources.range(parameter)
  const further = range && `${range} LIMIT ${parameter(page)}`
  const reading = setReading(sources.query.order, { all, end, full, range: further })
  const { rows, counted } = await ask(run, sources.query.order, reading, values, page)
  return { rows, isRight: Number(counted[0]) <= bound, starts: counted[1] ?? '' }
}

async function ask(
  run: Run,
  order: PlantOrder,
  reading: Reading,
  values: readonly unknown[],
  page: number,
): Promise<{ rows: readonly NewPlant[]; counted: TextRow }> {
  const text = searchStatement(order, reading, `$${values.length + 1}`)
  // The server keeps the plan of a statement with a name. Searches have some dozens of texts.
  const name = createHash('sha1').update(text).digest('hex')
  const { rows } = await run({ name, text, values: [...values, page] })
  const plants = rows[0]?.[0] == null ? [] : rows.map(plantOf)
  return { rows: plants, counted: (rows[0] ?? []).slice(3) }
}
