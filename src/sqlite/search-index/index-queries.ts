import type { PlantQuery } from '../../domain/plant-query.ts'
import { idsAfter, type PositionRange } from '../lookup.ts'
import type { IndexView } from './index-file.ts'
import { AFTER_ALL, type Expression, MARK, MAX_TERMS, type TagRange, type Terms, within } from './plant-index.ts'

/** Plants with MARK to whose last one a query looks of several words, or one that leaves plants out: FTS5 looks at 130,000 plants in 4 ms. */
const MARKS_OF_A_PART = 60
/** Plants that FTS5 finds, or leaves out, in less than a millisecond. */
const FEW = 1000
/** Entries from which a prefix without an index is not merged, which takes 1 ms. */
const FREQUENT = 5000

/** A query of the index for entries in an order of its own, part by part. */
export interface IdQuery {
  /**
   * @param from the first entry; undefined for the start
   * @param count of the entries at most
   * @param range where the plants are that it has to find
   */
  readonly part: (from: Entry | undefined, count: number, range: PositionRange) => Part
}

interface Part {
  /** Selects the `id` of each entry. Its parameters have the numbers from FIRST_PARAMETER on. */
  readonly sql: string
  readonly values: readonly IndexValue[]
  /**
   * Returns the first entry of the next part; undefined where there is none.
   *
   * @param max the greatest id
   */
  readonly next: (found: number, max: bigint) => Entry | undefined
}

const FIRST_PARAMETER = 3
type IndexValue = string | bigint | Uint8Array

export interface Entry {
  readonly tag: string
  readonly id: bigint
}

export const [LEAST_ID, GREATEST_ID] = [-(2n ** 63n), 2n ** 63n - 1n]
const FIRST_ENTRY: Entry = { tag: '', id: LEAST_ID }

/** What the index finds of words and tags, part by part. */
export class IndexQueries {
  readonly #index: IndexView

  constructor(index: IndexView) {
    this.#index = index
  }

  readonly terms: Terms = {
    // Reads one row, as FTS5 finds them in order.
    hasNegative: (expression) =>
      this.#index.statements.get('SELECT 1 FROM words WHERE words MATCH ? AND rowid < 0 LIMIT 1', expression) !==
      undefined,
    isRare: (expression) =>
      this.#index.statements.get(`SELECT 1 FROM words WHERE words MATCH ? LIMIT 1 OFFSET ${FEW}`, expression) ===
      undefined,
    frequent: (start) => {
      const end = start + AFTER_ALL
      const entries = `SELECT count(*) FROM (SELECT 1 FROM terms WHERE term >= ? AND term <= ? LIMIT ${FREQUENT})`
      if (Number(this.#index.statements.get(entries, start, end)?.[0]) < FREQUENT) return undefined
      // SQLite seeks `>=`, and reads all entries of the term for `>`.
      const next = '(SELECT term FROM terms WHERE term >='
      const rows = this.#index.statements.all(
        `WITH RECURSIVE found (term) AS (SELECT ${next} ?1 LIMIT 1)
            UNION ALL SELECT ${next} found.term || char(1) LIMIT 1) FROM found WHERE term <= ?2)
          SELECT term FROM found WHERE term <= ?2 LIMIT ${MAX_TERMS + 1}`,
        start,
        end,
      )
      return rows.map((row) => row[0] as string)
    },
  }

  /** Returns a query for all plants that an expression of one word finds. */
  ofWord(expression: Expression): IdQuery {
    const [n, from, to] = [FIRST_PARAMETER, FIRST_PARAMETER + 1, FIRST_PARAMETER + 2]
    const sql = `SELECT rowid AS id FROM words WHERE words MATCH ?${n} AND rowid BETWEEN ?${from} AND ?${to} ORDER BY rowid`
    return {
      part: ({ id: first } = FIRST_ENTRY, count, range) => {
        const { text, words } = within(expression, range)
        const last = words === 1 ? GREATEST_ID : this.endOfMarks(first)
        const end = (found: number, max: bigint) => (found < count ? last : max)
        return {
          sql: `${sql} LIMIT ${count}`,
          values: [text, first, last],
          next: (...part) => (end(...part) === GREATEST_ID ? undefined : { tag: '', id: end(...part) + 1n }),
        }
      },
    }
  }

  /** Returns a query for all plants whose tags are in a range. */
  ofTags({ from, before }: TagRange): IdQuery {
    const rest = (first: number) =>
      `FROM tags WHERE (tag, id) >= (?${first}, ?${first + 1}) AND tag < ?${first + 2} ORDER BY tag, id`
    return {
      part: ({ tag, id } = { ...FIRST_ENTRY, tag: from }, count) => {
        const values = [tag, id, before]
        return {
          sql: `SELECT id ${rest(FIRST_PARAMETER)} LIMIT ${count}`,
          values,
          next: () => {
            const row = this.#index.statements.get(`SELECT tag, id ${rest(1)} LIMIT 1 OFFSET ${count}`, ...values)
            return row && { tag: row[0] as string, id: row[1] as bigint }
          },
        }
      },
    }
  }

  /** Returns the last of the next plants with MARK from an id on; the greatest id where there are fewer. */
  endOfMarks(from: bigint): bigint {
    const sql = `SELECT rowid FROM words WHERE words MATCH ? AND rowid >= ? ORDER BY rowid LIMIT 1 OFFSET ${MARKS_OF_A_PART - 1}`
    return (this.#index.statements.get(sql, `"${MARK}"`, from)?.[0] as bigint | undefined) ?? GREATEST_ID
  }

  /** Yields the ids that an expression finds, in the order of a search by id. */
  *ids({ text }: Expression, { order, after }: Pick<PlantQuery, 'order' | 'after'>): Iterable<bigint> {
    const { condition, direction, values } = idsAfter(after?.id, order)
    const sql = `SELECT id FROM (SELECT rowid AS id FROM words WHERE words MATCH ?) WHERE ${condition} ORDER BY id ${direction}`
    for (const { 0: id } of this.#index.statements.iterate(sql, text, ...values)) yield id as bigint
  }
}
