import { isByName, type PlantOrder } from '../../plant-query.ts'
import type { Row, Run } from '../pool/client.ts'
import { FIRST, indexedWord } from '../search-terms.ts'

/** Milliseconds for which statistics are kept. The server makes new ones after a tenth of the plants has changed. */
const KEPT = 60_000
/** The correlation of an order with that on disk, from which neighbours count as lying together. */
const NEAR = 0.9
/** The plants that a search expects where the server has no count, as on a sharded store. */
const UNKNOWN = 1_000_000

/**
 * What the server's statistics say about all plants. A search decides by it what to try first, never what it finds; it
 * works without, as after a restore and on a sharded store.
 */
export class SearchStatistics {
  readonly plants: number
  readonly #near: ReadonlySet<string>
  readonly #words: readonly string[]
  /** For each word, the sum of the shares of the words before it. */
  readonly #sums: readonly number[]
  readonly #tags: ReadonlyMap<string, number>

  /** @param rows those of `STATISTICS` */
  constructor(rows: readonly Row[] = []) {
    const count = Number(rows[0]?.[0] ?? 0)
    this.plants = count > 0 ? count : UNKNOWN
    this.#near = new Set(
      rows.flatMap(([, column, correlation]) => (Math.abs(Number(correlation)) > NEAR ? [column ?? ''] : [])),
    )
    const shares = (wanted: string): [string, number][] => {
      const [, , , values, frequencies] = rows.find(([, column]) => column === wanted) ?? []
      const all = JSON.parse(frequencies ?? '[]') as number[]
      return (JSON.parse(values ?? '[]') as string[]).map((value, i) => [value, all[i] ?? 0])
    }
    const words = shares('words').sort(([a], [b]) => (a < b ? -1 : 1))
    this.#words = words.map(([word]) => word)
    let sum = 0
    this.#sums = [0, ...words.map(([, share]) => (sum += share))]
    this.#tags = new Map(shares('tag'))
  }

  /** Whether they know words at all. */
  get hasWords(): boolean {
    return this.#words.length > 0
  }

  /** Whether neighbours in an order lie together on disk. */
  isNear(order: PlantOrder): boolean {
    return this.#near.has(isByName(order) ? 'sort_key' : 'id')
  }

  /** The share of plants with a word that begins with this one, and of names that do; 0 for a rare word. */
  shareOf(word: string): { readonly all: number; readonly first: number } {
    const start = indexedWord(word)
    const first = this.#sumOf(FIRST + start)
    return { all: Math.min(1, first + this.#sumOf(start)), first: Math.min(1, first) }
  }

  /** The sum of the shares of all entries that begin with this. A query may have thousands of words. */
  #sumOf(start: string): number {
    const from = this.#position((entry) => entry >= start)
    const to = this.#position((entry) => entry >= start && !entry.startsWith(start))
    return (this.#sums[to] ?? 0) - (this.#sums[from] ?? 0)
  }

  /** The position of the first entry of which something is true, as of all behind it. */
  #position(isBehind: (entry: string) => boolean): number {
    let [from, to] = [0, this.#words.length]
    while (from < to) {
      const middle = (from + to) >>> 1
      if (isBehind(this.#words[middle] ?? '')) to = middle
      else from = middle + 1
    }
    return from
  }

  /** The share of plants with one of these tags; 0 for rare tags. */
  shareOfTags(tags: readonly string[]): number {
    return tags.reduce((sum, tag) => sum + (this.#tags.get(tag) ?? 0), 0)
  }
}

const STATISTICS = {
  name: 'search statistics',
  text: `SELECT (SELECT reltuples FROM pg_class WHERE oid = 'plants'::regclass), attname, correlation,
      to_json(CASE attname WHEN 'words' THEN most_common_elems WHEN 'tag' THEN most_common_vals END::text::text[]),
      to_json(CASE attname WHEN 'words' THEN most_common_elem_freqs WHEN 'tag' THEN most_common_freqs END)
    FROM pg_stats
    WHERE schemaname = current_schema() AND tablename = 'plants' AND attname IN ('id', 'sort_key', 'tag', 'words')`,
} as const

/** Keeps the statistics of a store for its searches. */
export class KeptStatistics {
  #statistics = new SearchStatistics()
  #until = 0

  /** Reads them again when they are old; searches that come meanwhile use the old ones. */
  async current(run: Run): Promise<SearchStatistics> {
    if (performance.now() < this.#until) return this.#statistics
    this.#until = performance.now() + KEPT
    try {
      this.#statistics = new SearchStatistics((await run(STATISTICS)).rows)
    } catch (error) {
      this.#until = 0
      throw error
    }
    return this.#statistics
  }
}
