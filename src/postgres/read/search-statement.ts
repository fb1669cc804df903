import { createHash } from 'node:crypto'
import type { NewPlant } from '../../domain/plant.ts'
import { PAGE_TEXT, type PlantQuery } from '../../domain/plant-query.ts'
import type { Outcome, Row, Statement } from '../pool/client.ts'
import { plantOf } from '../rows.ts'
import { wordQuery } from '../search-terms.ts'
import type { Source, Walk } from './search-conditions.ts'
import { isAfter, ordering, type Parameter, storableTags, tagIsOneOf, widePlants } from './search-conditions.ts'

/**
 * Bytes of text after which a page ends, with one extra plant. `octet_length` needs no read of the text. One UTF-16
 * unit takes at most three bytes of UTF-8, so such a page has at least PAGE_TEXT units.
 */
export const PAGE_BYTES = 3 * PAGE_TEXT

/** One step of a search. Its only statement has one snapshot. */
export interface Step {
  readonly sources: readonly Source[]
  /** Maximum number of plants in the page. */
  readonly page: number
  /** Maximum number of plants of a walk, and of a set. */
  readonly walk?: number
  readonly set?: number
}

export interface StepResult {
  readonly rows: readonly NewPlant[]
  /** The number of plants of the first source, and of its hits. */
  readonly seen: number
  readonly hits: number
  /** Whether the rows are the first plants of the query, so that the search ends. */
  readonly isRight: boolean
}

export function statementOf(query: PlantQuery, step: Step): Statement {
  const { sources, page } = step
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const tables = sources.map((source, i) => {
    const whole = source.text(parameter)
    // One extra row shows that the set exceeds its bound.
    const count = parameter(boundOf(source, step) + (source.isSet ? 1 : 0))
    return `s${i} AS MATERIALIZED (${whole} LIMIT ${count})`
  })
  const counts = sources.flatMap((_, i) => [
    `(SELECT count(*) FROM s${i}) AS seen${i}`,
    `(SELECT count(*) FROM s${i} WHERE hit) AS hits${i}`,
  ])
  const hits = sources.map((_, i) => `SELECT id, name, tag, sort_key FROM s${i} WHERE hit`).join(' UNION ALL ')
  const ids = sources.map((_, i) => `SELECT id FROM s${i} WHERE hit`).join(' UNION ALL ')
  // A walk through all names that begin with a word may have found a wide plant too.
  const all = withWide(query, parameter, tables, hits, ` WHERE id NOT IN (${ids})`)
  const inner = pageOf({ text: `SELECT * FROM (${all}) AS hits`, values }, query, page)
  return named({
    text: `WITH ${tables.join(', ')} SELECT p.id, p.name, p.tag, c.* FROM (SELECT ${counts.join(', ')}) AS c
      LEFT JOIN (${inner.text}) AS p ON true ORDER BY ${ordering(query.order, 'p.')}`,
    values: inner.values,
  })
}

/**
 * Walks at most `bound` plants, and ends at the last hit of the page. It does not count the plants like `statementOf`,
 * which takes more than twice as long.
 */
export function walkStatement(query: PlantQuery, walk: Walk, bound: number, page: number): Statement {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const [walked, path, end, full] = [walk.text(parameter), walk.path(parameter), parameter(bound), parameter(page)]
  const hits = `SELECT * FROM (${walked} LIMIT ${end}) AS walked WHERE hit`
  const tables = [`s0 AS MATERIALIZED (${hits} ORDER BY ${ordering(query.order)} LIMIT ${full})`]
  const all = withWide(query, parameter, tables, 'SELECT id, name, tag, sort_key FROM s0')
  const inner = pageOf({ text: `SELECT * FROM (${all}) AS hits`, values }, query, page)
  return named({
    text: `WITH ${tables.join(', ')} SELECT p.id, p.name, p.tag, c.* FROM (
        SELECT hits, CASE WHEN hits < ${full}
          THEN (SELECT count(*) FROM (${path} OFFSET ${end} LIMIT 1) AS further) END AS further
        FROM (SELECT count(*) AS hits FROM s0) AS h) AS c
      LEFT JOIN (${inner.text}) AS p ON true ORDER BY ${ordering(query.order, 'p.')}`,
    values: inner.values,
  })
}

/** Selects a page of the query without bounds. The planner chooses the index. */
export function everything(query: PlantQuery, limit: number): Statement {
  const { order, after, tags, words } = query
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value)}`
  const conditions = words.length === 0 ? [] : [`words @@ ${parameter(wordQuery(words))}::tsquery`]
  if (tags.length > 0) conditions.push(...tagIsOneOf(storableTags(tags), parameter))
  if (after !== undefined) conditions.push(isAfter(order, after, parameter))
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  // OFFSET 0 keeps the planner from a walk in the order, which the earlier steps have tried.
  const every = `SELECT * FROM (SELECT id, name, tag, sort_key FROM plants ${where} OFFSET 0) AS every`
  const tables: string[] = []
  const all = withWide(query, parameter, tables, every)
  const { text, values: used } = pageOf({ text: `SELECT * FROM (${all}) AS hits`, values }, query, limit)
  return named({ text: tables.length === 0 ? text : `WITH ${tables.join(', ')} ${text}`, values: used })
}

/**
 * Adds the wide plants of a query to a SELECT of its other plants.
 *
 * @param tables the statement's common table expressions, to which it adds those of the wide plants
 * @param condition which wide plants to add, as a WHERE clause
 */
export function withWide(
  query: Pick<PlantQuery, 'tags' | 'words'> & Partial<PlantQuery>,
  parameter: Parameter,
  tables: string[],
  others: string,
  condition = '',
): string {
  if (query.words.length === 0) return others
  tables.push(...widePlants(query, parameter))
  return `${others} UNION ALL SELECT id, name, tag, sort_key FROM wide${condition}`
}

const boundOf = ({ isSet, isExact }: Source, { walk = 0, set = 0, page }: Step): number =>
  isSet ? set : isExact ? page : Math.max(walk, page)

/** Limits the rows of a statement to a page. */
function pageOf(
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

/** Names a statement, so that the server keeps its plan. Searches have some dozens of texts. */
const named = (statement: { text: string; values: readonly unknown[] }): Statement => ({
  ...statement,
  name: createHash('sha1').update(statement.text).digest('hex'),
})

export function resultOf({ rows }: Outcome, step: Step): StepResult {
  const { sources, page, set = 0 } = step
  const [, , , ...counts] = (rows[0] ?? []).map(Number)
  const each = sources.map((source, i) => ({ source, seen: counts[2 * i] ?? 0, hits: counts[2 * i + 1] ?? 0 }))
  // A walk that reaches its bound still has the first plants in order. A set that reaches its bound has any plants.
  const isWhole = each.every(({ source, seen, hits }) =>
    source.isSet ? seen <= set : seen < boundOf(source, step) || hits >= page,
  )
  return { rows: plantsIn(rows), seen: each[0]?.seen ?? 0, hits: each[0]?.hits ?? 0, isRight: isWhole }
}

/** The result of `walkStatement`. */
export function walkResultOf({ rows }: Outcome, bound: number, page: number): StepResult {
  const [, , , hits = 0, further = 0] = (rows[0] ?? []).map(Number)
  return { rows: plantsIn(rows), seen: bound, hits, isRight: hits >= page || further === 0 }
}

/** Without plants, a statement with counts returns one row with NULL in place of a plant. */
const plantsIn = (rows: readonly Row[]): NewPlant[] => (rows[0]?.[0] == null ? [] : rows.map(plantOf))
