import { compareCodePoints, isWord, type TagQuery } from '../../domain/plant-query.ts'
import type { TagCount } from '../../domain/store.ts'
import { tagsOf } from '../lookup.ts'
import type { StatementCache } from '../rows.ts'
import { race, STEP, type Task, Turn } from '../worker/cooperative.ts'
import type { IndexView } from './index-file.ts'
import type { IndexQueries } from './index-queries.ts'
import { behindTag, type Expression, matchExpression, rangeOfPrefix, UNTAGGED } from './plant-index.ts'

/** Tags that one step of a walk reads. */
const WALKED = 200

/** Finds tags by the search index, in the snapshots of both connections. */
export class TagSearch {
  readonly #statements: StatementCache
  readonly #index: IndexView
  readonly #queries: IndexQueries

  constructor(statements: StatementCache, index: IndexView, queries: IndexQueries) {
    this.#statements = statements
    this.#index = index
    this.#queries = queries
  }

  /**
   * Finds the first indexed tags of a query, by a walk through the tags, and by the plants with its words.
   *
   * @param isFound whether the query selects a tag, and it is not to be left out
   */
  *find(query: TagQuery, limit: number, isFound: (tag: string) => boolean): Task<TagCount[]> {
    const { words = [], prefix: tagPrefix } = query
    if (!words.every(isWord)) return []
    const expression = matchExpression({ words, tags: [], tagPrefix }, this.#queries.terms)
    const walk = this.#walk(query, limit, isFound)
    return yield* expression === undefined ? walk : race([this.#ofWords(expression, limit, isFound), walk])
  }

  /** Returns how many indexed plants have a tag. */
  countOf(tag: string): number {
    return Number(this.#index.statements.get('SELECT plants FROM tag_counts WHERE tag = ?', tag)?.[0] ?? 0)
  }

  *#walk({ prefix = '', after }: TagQuery, limit: number, isFound: (tag: string) => boolean): Task<TagCount[]> {
    let { from, before } = rangeOfPrefix(prefix)
    if (after !== undefined && compareCodePoints(after, from) >= 0) from = behindTag(after)
    const found: TagCount[] = []
    for (;;) {
      const rows = this.#index.statements.all(
        `SELECT tag, plants FROM tag_counts WHERE tag >= ? AND tag < ? ORDER BY tag LIMIT ${WALKED}`,
        from,
        before,
      )
      for (const { 0: tag, 1: plants } of rows) {
        if (tag !== UNTAGGED && isFound(tag as string)) found.push({ tag: tag as string, plants: Number(plants) })
      }
      const last = rows.at(-1)
      if (last === undefined || found.length >= limit || rows.length < WALKED) return found.slice(0, limit)
      from = behindTag(last[0] as string)
      yield
    }
  }

  /** Finds the first tags among those of all plants that an expression finds. It keeps the tags of two pages. */
  *#ofWords(expression: Expression, limit: number, isFound: (tag: string) => boolean): Task<TagCount[]> {
    let found = new Set<string>()
    let end: string | undefined
    const first = () => [...found].sort(compareCodePoints).slice(0, limit)
    const ids = this.#queries.ids(expression, { order: 'id', after: undefined })
    const turn = new Turn()
    for (const tag of tagsOf(this.#statements, ids, STEP)) {
      const isBefore = tag !== undefined && (end === undefined || compareCodePoints(tag, end) < 0)
      if (isBefore && !found.has(tag) && isFound(tag)) found.add(tag)
      if (found.size > limit * 2) {
        found = new Set(first())
        end = [...found].at(-1)
      }
      if (tag === undefined || turn.isOver(tag.length)) yield
    }
    return first().map((tag) => ({ tag, plants: this.countOf(tag) }))
  }
}
