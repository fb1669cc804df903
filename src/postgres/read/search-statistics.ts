import { covers } from '../../domain/part.ts'
import { hasTagging, type TagFilter } from '../../domain/plant-query.ts'
import type { Run, TextRow } from '../pool/client.ts'
import { FIRST, indexedWord, isAsciiWord, lexemesOf } from '../search-terms.ts'

/**
 * Milliseconds after which statistics are read again. The server renews them after a tenth of the plants has changed.
 */
const MAX_AGE = 60_000
/** The number of plants with a word from which it saves time to ask whether any has a longer one, which takes 1 ms. */
const MANY = 20_000
/** The number of plants that a search assumes without statistics. */
const UNKNOWN = 1_000_000

/**
 * The server's statistics of all plants (pg_stats). They decide the order in which a search tries its ways, and never
 * its result. They may be missing, such as after a restore.
 */
export class SearchStatistics {
  readonly plants: number
  readonly #words: readonly string[]
  /** For each word, the sum of the shares of the words before it. */
  readonly #sums: readonly number[]
  readonly #tags: ReadonlyMap<string, number>

  /** @param rows the rows of `STATISTICS` */
  constructor(rows: readonly TextRow[] = []) {
    const count = Number(rows[0]?.[0] ?? 0)
    this.plants = count > 0 ? count : UNKNOWN
    const shares = (wanted: string): [string, number][] => {
      const [, , values, frequencies] = rows.find(([, column]) => column === wanted) ?? []
      const all = JSON.parse(frequencies ?? '[]') as number[]
      return (JSON.parse(values ?? '[]') as string[]).map((value, i) => [value, all[i] ?? 0])
    }
    const words = shares('words').sort(([a], [b]) => (a < b ? -1 : 1))
    this.#words = words.map(([word]) => word)
    let sum = 0
    this.#sums = [0, ...words.map(([, share]) => (sum += share))]
    this.#tags = new Map(shares('tag'))
  }

  get hasWords(): boolean {
    return this.#words.length > 0
  }

  /**
   * Returns the share of plants with a word that begins with this word, and of plants whose name begins with it; 0 for
   * a rare word.
   */
  shareOf(word: string): { readonly all: number; readonly first: number } {
    const start = indexedWord(word)
    const first = this.#sumOf(FIRST + start)
    return { all: Math.min(1, first + this.#sumOf(start)), first: Math.min(1, first) }
  }

  /** Whether so many plants have exactly this word, and so few a longer one, that the search asks for it (hasWords). */
  isFrequent(word: string): boolean {
    if (!isAsciiWord(word) || this.shareOf(word).all * this.plants < MANY) return false
    return lexemesOf(indexedWord(word)).every((entry) => {
      const { from, to } = this.#range(entry)
      return to - from <= (this.#words[from] === entry ? 1 : 0)
    })
  }

  /** By a binary search, as a query may have thousands of words. */
  #sumOf(start: string): number {
    const { from, to } = this.#range(start)
    return (this.#sums[to] ?? 0) - (this.#sums[from] ?? 0)
  }

  /** The entries with this prefix: from `from` on, and before `to`. */
  #range(start: string): { readonly from: number; readonly to: number } {
    const from = this.#position((entry) => entry >= start)
    return { from, to: this.#position((entry) => entry >= start && !entry.startsWith(start)) }
  }

  /** The index of the first entry for which a condition holds. It must hold for all later entries too. */
  #position(isBehind: (entry: string) => boolean): number {
    let [from, to] = [0, this.#words.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isBehind(this.#words[middle] ?? '')) to = middle
      else from = middle + 1
    }
    return from
  }

  /** Returns the share of plants with what a filter demands of tags; 0 for rare tags. */
  shareOfTags({ part, ...filter }: TagFilter): number {
    const { tags, tagPrefix, untagged } = filter
    const listed = Array.from(this.#tags)
    const sum = (some: readonly (readonly [string, number])[]) => some.reduce((all, [, share]) => all + share, 0)
    if (untagged === true) return Math.max(0, 1 - sum(listed))
    if (part !== undefined && !hasTagging(filter)) return sum(listed.filter(([tag]) => covers(part, tag)))
    if (tagPrefix !== undefined) return sum(listed.filter(([tag]) => tag.startsWith(tagPrefix)))
    return tags.reduce((all, tag) => all + (this.#tags.get(tag) ?? 0), 0)
  }
}

/** The statistics of an empty table are of an earlier time: its plants are gone. */
const STATISTICS = {
  name: 'search statistics',
  text: `SELECT reltuples, attname, to_json(coalesce(most_common_elems::text, most_common_vals::text)::text[]),
      to_json(coalesce(most_common_elem_freqs, most_common_freqs))
    FROM pg_stats, pg_class
    WHERE pg_class.oid = 'plants'::regclass AND reltuples > 0
      AND schemaname = current_schema() AND tablename = 'plants' AND attname IN ('tag', 'words')`,
} as const

const NONE = new SearchStatistics()

export class StatisticsCache {
  #statistics = NONE
  #until = 0

  forget(): void {
    this.#until = 0
  }

  /** Reads old statistics again. Concurrent searches use the old ones until then. */
  async current(run: Run): Promise<SearchStatistics> {
    if (performance.now() < this.#until) return this.#statistics
    this.#until = performance.now() + MAX_AGE
    try {
      this.#statistics = new SearchStatistics((await run(STATISTICS)).rows)
    } catch (error) {
      this.#until = 0
      throw error
    }
    return this.#statistics
  }
}
