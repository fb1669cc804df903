import { createHash } from 'node:crypto'
import type { NewPlant } from '../../domain/plant.ts'
import type { PlantQuery } from '../../domain/plant-query.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { ordering, type Sources, type Within } from './search-conditions.ts'

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
  const { order } = sources.query
  const [walked, path, end] = [sources.walk(parameter), sources.path(parameter), parameter(bound)]
  const full = parameter(page)
  const hit = `SELECT * FROM (${walked} LIMIT ${end}) AS walked WHERE hit ORDER BY ${ordering(order)} LIMIT ${full}`
  const tables = [`s0 AS MATERIALIZED (${hit})`]
  const hits = 'SELECT id, name, tag, sort_key FROM s0'
  // Counts the plants after the bound only where the page is not full: to count all takes more than twice as long.
  const counts = `SELECT hits, CASE WHEN hits < ${full}
      THEN (SELECT count(*) FROM (${path} OFFSET ${end} LIMIT 1) AS further) END AS further
    FROM (SELECT count(*) AS hits FROM s0) AS h`
  const { rows, counted } = await ask(run, sources.query, tables, hits, counts, values, page)
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
  // One extra row shows that the set exceeds its bound. Only a set with a bound keeps all rows, which doubles its time.
  const end = parameter(bound === Infinity ? null : bound + 1)
  let all = `${sources.set(parameter, within)} LIMIT ${end}`
  if (bound === Infinity) {
    const order = ordering(sources.query.order)
    all = `SELECT * FROM (${all}) AS whole WHERE hit ORDER BY ${order} LIMIT ${parameter(page)}`
  }
  const tables = [`s0 AS MATERIALIZED (${all})`]
  let hits = 'SELECT id, name, tag, sort_key FROM s0 WHERE hit'
  const range = sources.range(parameter)
  if (range !== undefined) {
    tables.push(`s1 AS MATERIALIZED (${range} LIMIT ${parameter(page)})`)
    hits += ' UNION ALL SELECT id, name, tag, sort_key FROM s1'
  }
  const starts = "SELECT string_agg(start, '') FROM (SELECT DISTINCT left(sort_key, 1) AS start FROM s0) AS starts"
  const counts = `SELECT count, CASE WHEN count >= ${end} THEN (${starts}) END FROM (SELECT count(*) FROM s0) AS c`
  const { rows, counted } = await ask(run, sources.query, tables, hits, counts, values, page)
  return { rows, isRight: Number(counted[0]) <= bound, starts: counted[1] ?? '' }
}

/** Runs a statement that selects the first hits, up to a page, and counts beside them. */
async function ask(
  run: Run,
  { order }: PlantQuery,
  tables: readonly string[],
  hits: string,
  counts: string,
  values: readonly unknown[],
  page: number,
): Promise<{ rows: readonly NewPlant[]; counted: TextRow }> {
  const text = `WITH ${tables.join(', ')} SELECT p.id, p.name, p.tag, c.* FROM (${counts}) AS c
    LEFT JOIN (SELECT * FROM (${hits}) AS hits ORDER BY ${ordering(order)} LIMIT $${values.length + 1}) AS p
      ON true ORDER BY ${ordering(order, 'p.')}`
  // The server keeps the plan of a statement with a name. Searches have some dozens of texts.
  const name = createHash('sha1').update(text).digest('hex')
  const { rows } = await run({ name, text, values: [...values, page] })
  return { rows: plantsIn(rows), counted: (rows[0] ?? []).slice(3) }
}

/** Without plants, a statement with counts returns one row with NULL in place of a plant. */
const plantsIn = (rows: readonly TextRow[]): NewPlant[] => (rows[0]?.[0] == null ? [] : rows.map(plantOf))
