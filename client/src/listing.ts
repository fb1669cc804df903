import type { Success } from './judge.ts'

export interface Page<T> {
  readonly items: readonly T[]
  /** The query string of the next page; undefined on the last one. */
  readonly next: string | undefined
  /** With `count: true`, the number of all that match, on the page that asked for it. */
  readonly total: Total | undefined
  /** The time of the oldest entry of the log of changes, of a list that goes only as far as the log. */
  readonly since: string | undefined
}

export interface Total {
  readonly plants: number
  /** Whether so many match. Otherwise more do: the service counts the matches of words up to a bound. */
  readonly isExact: boolean
}

/**
 * A list of the service. `for await` yields its items one by one, and `pages()` page by page. Each page is requested
 * when the caller needs it.
 */
export class Listing<T> implements AsyncIterable<T> {
  readonly #first: string
  readonly #load: (query: string) => Promise<Page<T>>

  /**
   * @param first the query string of the first page
   * @param load reads the page of a query string
   */
  constructor(first: string, load: (query: string) => Promise<Page<T>>) {
    this.#first = first
    this.#load = load
  }

  /**
   * Reads one page, for a caller that keeps its position itself. A caller can repeat it after an error, which would end
   * a generator.
   *
   * @param at `next` of the page before; the first page by default
   */
  page(at: string = this.#first): Promise<Page<T>> {
    return this.#load(at)
  }

  async *pages(): AsyncGenerator<readonly T[], void, undefined> {
    for (let query: string | undefined = this.#first; query !== undefined; ) {
      const page: Page<T> = await this.#load(query)
      yield page.items
      query = page.next
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page
  }
}

export const pageIn = <T>({ value, headers }: Success, itemOf: (json: unknown) => T): Page<T> => ({
  items: (value as readonly unknown[]).map(itemOf),
  next: nextIn(headers.get('Link')),
  total: totalIn(headers.get('Plantstore-Total')),
  since: headers.get('Plantstore-Log-Since') ?? undefined,
})

/** The query string of the next page, from the header `Link` (RFC 8288). */
function nextIn(link: string | null): string | undefined {
  const target = /<([^<>]*)>\s*;\s*rel="?next"?/.exec(link ?? '')?.[1]
  const mark = target?.indexOf('?') ?? -1
  return mark === -1 ? undefined : target?.slice(mark)
}

/** The number in the header `Plantstore-Total`. */
function totalIn(text: string | null): Total | undefined {
  const [, more, plants] = /^(>?)(\d+)$/.exec(text ?? '') ?? []
  return plants === undefined ? undefined : { plants: Number(plants), isExact: more === '' }
}

/** Writes a query string with its question mark. Leaves out undefined values, and repeats the name for a list. */
export function queryOf(parameters: object): string {
  const pairs = Object.entries(parameters).flatMap(([name, value]: [string, unknown]) =>
    (Array.isArray(value) ? value : [value])
      .filter((each: unknown) => each !== undefined)
      .map((each) => `${encodeURIComponent(name)}=${encodeURIComponent(String(each))}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
