import type { PlantOrder } from '../../domain/plant-query.ts'
import { ordering } from './search-conditions.ts'

/*
 * The statements of a search, of parts that `./search-conditions.ts` makes. Each selects the first hits, up to a page,
 * and counts beside them. Decision 23 has the figures.
 *
 * Tried: one statement, with a way that the planner chooses (ten seconds for 101 of a million plants); counts of all
 * plants behind a walk, also where its page is full (more than twice as long); sets without a bound that keep all of their
 * rows (twice as long).
 */

/** What a statement reads, which of that it returns, and what it counts. */
export interface Reading {
  readonly tables: readonly string[]
  readonly hits: string
  readonly counts: string
}

const COLUMNS = 'id, name, tag, sort_key'

interface WalkParts {
  /** Selects plants in order, each with whether it is a hit; and the same plants alone. */
  readonly walked: string
  readonly path: string
  /** Where the walk ends, and the size of a page, as parameters. */
  readonly end: string
  readonly full: string
}

/** Counts the hits, and where these do not fill the page, whether plants follow. */
export const walkReading = (order: PlantOrder, { walked, path, end, full }: WalkParts): Reading => ({
  tables: [`SELECT * FROM (${walked} LIMIT ${end}) AS walked WHERE hit ORDER BY ${ordering(order)} LIMIT ${full}`],
  hits: `SELECT ${COLUMNS} FROM s0`,
  counts: `SELECT hits, CASE WHEN hits < ${full}
      THEN (SELECT count(*) FROM (${path} OFFSET ${end} LIMIT 1) AS further) END AS further
    FROM (SELECT count(*) AS hits FROM s0) AS h`,
})

interface SetParts {
  /** Selects plants in any order, each with whether it is a hit. */
  readonly all: string
  /** How many of them, as a parameter: with one above the bound, the set exceeds it. */
  readonly end: string
  /** The size of a page, as a parameter, where the set has no bound. */
  readonly full: string | undefined
  /** Selects further hits, up to a page. */
  readonly range: string | undefined
}

/** Counts the plants of the set, and lists the characters with which names begin in one that exceeds its bound. */
export function setReading(order: PlantOrder, { all, end, full, range }: SetParts): Reading {
  const whole = `${all} LIMIT ${end}`
  const first = `SELECT * FROM (${whole}) AS whole WHERE hit ORDER BY ${ordering(order)} LIMIT ${full}`
  const starts = "SELECT string_agg(start, '') FROM (SELECT DISTINCT left(sort_key, 1) AS start FROM s0) AS starts"
  return {
    tables: [full === undefined ? whole : first, ...(range === undefined ? [] : [range])],
    hits: `SELECT ${COLUMNS} FROM s0 WHERE hit${range === undefined ? '' : ` UNION ALL SELECT ${COLUMNS} FROM s1`}`,
    counts: `SELECT count, CASE WHEN count >= ${end} THEN (${starts}) END FROM (SELECT count(*) FROM s0) AS c`,
  }
}

/** Without hits, it returns one row with NULL in place of a plant. @param page the size of a page, as a parameter */
export const searchStatement = (order: PlantOrder, { tables, hits, counts }: Reading, page: string): string =>
  `WITH ${tables.map((table, i) => `s${i} AS MATERIALIZED (${table})`).join(', ')}
    SELECT p.id, p.name, p.tag, c.* FROM (${counts}) AS c
    LEFT JOIN (SELECT * FROM (${hits}) AS hits ORDER BY ${ordering(order)} LIMIT ${page}) AS p
      ON true ORDER BY ${ordering(order, 'p.')}`
