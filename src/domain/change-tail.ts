import { setTimeout as sleep } from 'node:timers/promises'
import {
  ALL_CHANGES,
  type ChangeEntry,
  type ChangeFilter,
  type ChangeLog,
  type ChangePage,
  changeText,
} from './changes.ts'

/** Bounds of a page, in entries and in UTF-16 units of their plants. The last entry may be larger. */
export const TAIL_PAGE = { limit: 400, text: 2 ** 16 } as const
/** UTF-16 units of the plants in the pages that are kept. Readers that lag by no more need no read of their own. */
const KEPT_TEXT = 2 ** 19
/** What an entry counts apart from its plants. */
const ENTRY_TEXT = 256
/** Milliseconds between two reads at the end: more reads would cost more than they hasten. */
const MIN_INTERVAL = 20
/** The same while a filter leaves everything out, as for webhooks that seldom get anything: each read costs 0.3 ms. */
const IDLE_INTERVAL = 100
/** Milliseconds after which readers get their position also where a filter left out all entries. */
const EMPTY_INTERVAL = 1000
/** Milliseconds after a fault of the store until the readers learn of it, so that they do not ask in a circle. */
const PAUSE_AFTER_FAULT = 1000

/** A page that all readers share. */
export interface TailPage<Content> {
  /** The position before the page. */
  readonly from: string
  /** The position after the page. */
  readonly next: string
  readonly content: Content
  /** UTF-16 units. */
  readonly text: number
}

/** Makes what is needed of a page. Halves the page until that fits, or until it has one entry. */
export function fitPage<Content>(
  page: ChangePage,
  contentOf: (entries: readonly ChangeEntry[]) => Content,
  fits: (content: Content) => boolean,
): ChangePage & { readonly content: Content } {
  const content = contentOf(page.entries)
  if (page.entries.length < 2 || fits(content)) return { ...page, content }
  const entries = page.entries.slice(0, Math.ceil(page.entries.length / 2))
  return fitPage({ entries, next: entries.at(-1)?.position ?? page.next, isEnd: false }, contentOf, fits)
}

/** Called with the next page, with the error of the read, or with undefined when the signal aborts. */
type Take<Content> = (page: TailPage<Content> | Error | undefined) => void

interface TailOptions<Content> {
  readonly filterNow?: () => ChangeFilter
  readonly fits?: (content: Content) => boolean
}

/**
 * Reads the end of the log of changes once for all readers that are there: streams, or webhooks. It reads only while one of
 * them waits, and keeps the last pages. A reader that lags by more reads the log by itself until it is at the end again.
 */
export class ChangeTail<Content> {
  readonly #log: ChangeLog
  readonly #contentOf: (entries: readonly ChangeEntry[]) => Content
  readonly #closing: AbortSignal
  readonly #waiting = new Set<Take<Content>>()
  /** The last pages without a gap, oldest first. */
  #pages: TailPage<Content>[] = []
  /** The position after which the next read begins. */
  #position = ''
  #growing: Promise<void> | undefined
  #isReading = false
  #givenAt = 0
  readonly #filterNow: () => ChangeFilter
  readonly #fits: (content: Content) => boolean
  /** That of the kept pages. */
  #filter = ALL_CHANGES

  /**
   * @param contentOf makes of entries what all readers share
   * @param closing ends the wait for new entries
   * @param filterNow selects at least what the readers want; another object whenever they want something else
   * @param fits whether a reader may hold as much
   */
  constructor(
    log: ChangeLog,
    contentOf: (entries: readonly ChangeEntry[]) => Content,
    closing: AbortSignal,
    { filterNow = () => ALL_CHANGES, fits = () => true }: TailOptions<Content> = {},
  ) {
    this.#log = log
    this.#contentOf = contentOf
    this.#closing = closing
    this.#filterNow = filterNow
    this.#fits = fits
  }

  /** Whether a reader at the position has to read the log by itself. */
  isBehind(position: string): boolean {
    return position < (this.#pages[0]?.from ?? this.#position)
  }

  /**
   * Returns a page with the entries after a position, which may begin before it. Waits at the end of the log.
   *
   * @param position where an own read found the end of the log, or `next` of a page
   * @param signal ends the wait
   * @returns undefined when a signal aborts, or when the reader is behind
   * @throws what the read throws
   */
  pageAfter(position: string, signal: AbortSignal): Promise<TailPage<Content> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<TailPage<Content> | undefined>()
    this.#useFilter()
    const kept = this.#pages.find(({ from, next }) => from <= position && position < next)
    if (kept !== undefined || this.isBehind(position) || signal.aborted || this.#closing.aborted) {
      resolve(kept)
      return promise
    }
    const take: Take<Content> = (page) => {
      signal.removeEventListener('abort', end)
      this.#waiting.delete(take)
      if (page instanceof Error) reject(page)
      else resolve(page)
    }
    const end = () => take(undefined)
    signal.addEventListener('abort', end)
    this.#waiting.add(take)
    if (!this.#isReading) void this.#readFrom(position)
    return promise
  }

  async #readFrom(position: string): Promise<void> {
    this.#isReading = true
    if (position !== this.#position) this.#pages = []
    this.#position = position
    while (this.#waiting.size > 0 && !this.#closing.aborted) {
      // Before the read, so that no commit is missed between the two.
      this.#growing ??= this.#log.grown(this.#closing).finally(() => {
        this.#growing = undefined
      })
      try {
        this.#useFilter()
        const [filter, readAt] = [this.#filter, performance.now()]
        const read = await this.#log.read({ ...TAIL_PAGE, ...filter, after: this.#position })
        // A reader that came meanwhile may want what the filter left out.
        if (filter !== this.#filterNow()) continue
        const isLate = filter !== ALL_CHANGES && readAt - this.#givenAt > EMPTY_INTERVAL
        const { entries, next, isEnd } = read.entries.length > 0 || isLate ? this.#share(read) : read
        this.#position = next
        if (isEnd && entries.length === 0) await this.#growing
        const interval = entries.length === 0 ? IDLE_INTERVAL : MIN_INTERVAL
        if (isEnd) await sleep(Math.max(0, readAt + interval - performance.now()))
      } catch (error) {
        await sleep(PAUSE_AFTER_FAULT, undefined, { signal: this.#closing }).catch(() => {})
        this.#give(error instanceof Error ? error : new Error(String(error)))
      }
    }
    this.#isReading = false
    this.#give(undefined)
  }

  /** The kept pages have only what the filter of their reads selected. */
  #useFilter(): void {
    if (this.#filter === this.#filterNow()) return
    this.#filter = this.#filterNow()
    this.#pages = []
  }

  /** Keeps a page, or as much of it as fits, and gives it to the readers. */
  #share(read: ChangePage): ChangePage {
    const { content, ...page } = fitPage(read, this.#contentOf, this.#fits)
    const text = page.entries.reduce((sum, entry) => sum + ENTRY_TEXT + changeText(entry), 0)
    const shared = { from: this.#pages.at(-1)?.next ?? this.#position, next: page.next, content, text }
    this.#pages.push(shared)
    for (let kept = this.#pages.reduce((sum, each) => sum + each.text, 0); kept > KEPT_TEXT; ) {
      if (this.#pages.length === 1) break
      kept -= this.#pages.shift()?.text ?? 0
    }
    this.#give(shared)
    return page
  }

  #give(page: TailPage<Content> | Error | undefined): void {
    this.#givenAt = performance.now()
    for (const take of [...this.#waiting]) take(page)
  }
}
