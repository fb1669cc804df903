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
/** The same after a read that found nothing, also where a filter left everything out: each read costs 0.3 ms. */
const IDLE_INTERVAL = 100
/** Milliseconds after which readers get a page without entries, too. */
const LOOK_INTERVAL = 500

/** A page of the log, which may begin before the position that was asked for. */
export interface TailPage<Content> {
  /** The position before the page. */
  readonly from: string | undefined
  /** The position after the page. */
  readonly next: string
  readonly content: Content
  /** Whether its reader is at the end of the log, where all share the reads. */
  readonly isShared: boolean
}

type KeptPage<Content> = TailPage<Content> & {
  readonly from: string
  /** UTF-16 units. */
  readonly text: number
}

/**
 * Reads the end of the log of changes once for all readers that are there: streams, or webhooks. It reads only while one
 * of them waits, and keeps the last pages. A reader that lags by more reads by itself until it is at the end again.
 */
export class ChangeTail<Content> {
  readonly #log: ChangeLog
  readonly #contentOf: (entries: readonly ChangeEntry[]) => Content
  readonly #fits: (content: Content) => boolean
  /** The last pages without a gap, oldest first. */
  #pages: KeptPage<Content>[] = []
  /** The position after which the next read begins. */
  #position = ''
  #filter = ALL_CHANGES
  #reading: Promise<TailPage<Content>> | undefined
  #waiting = new AbortController()
  #nextReadAt = 0

  /**
   * @param contentOf makes of entries what all readers share
   * @param fits whether a reader may hold as much
   */
  constructor(
    log: ChangeLog,
    contentOf: (entries: readonly ChangeEntry[]) => Content,
    fits: (content: Content) => boolean = () => true,
  ) {
    this.#log = log
    this.#contentOf = contentOf
    this.#fits = fits
  }

  /** Selects at least what the readers want. The kept pages have only what the filter of their reads selected. */
  set filter(filter: ChangeFilter) {
    this.#filter = filter
    this.#pages = []
  }

  /** Ends the wait of all readers at the end of the log. */
  wake(): void {
    this.#waiting.abort()
    this.#waiting = new AbortController()
  }

  /**
   * Returns the next page after a position. Waits up to LOOK_INTERVAL at the end of the log, and then returns a page without
   * entries.
   *
   * @param isShared that of the page before this position
   * @param readAlone reads the log for a reader that lags
   * @throws what a read throws
   */
  async pageAfter(
    position: string | undefined,
    isShared: boolean,
    readAlone: (after: string | undefined) => Promise<ChangePage>,
  ): Promise<TailPage<Content>> {
    if (position === undefined || !isShared || position < (this.#pages[0]?.from ?? this.#position)) {
      const { isEnd, ...page } = fitPage(await readAlone(position), this.#contentOf, this.#fits)
      return { ...page, from: position, isShared: isEnd }
    }
    const kept = this.#pages.find(({ from, next }) => from <= position && position < next)
    if (kept !== undefined) return kept
    if (this.#reading === undefined) {
      if (position !== this.#position) this.#pages = []
      this.#position = position
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined
      })
    }
    return this.#reading
  }

  async #read(): Promise<TailPage<Content>> {
    let [from, filter] = [this.#position, this.#filter]
    const { signal } = this.#waiting
    const until = performance.now() + LOOK_INTERVAL
    for (;;) {
      const pause = this.#nextReadAt - performance.now()
      if (pause > 0) await sleep(pause, undefined, { signal }).catch(() => {})
      // The page begins where the reads have had this filter: a reader that came meanwhile may want what they left out.
      if (filter !== this.#filter) [from, filter] = [this.#position, this.#filter]
      const readAt = performance.now()
      const read = await this.#log.read({ ...TAIL_PAGE, ...filter, after: this.#position })
      if (filter !== this.#filter) continue
      const { content, next, isEnd, entries } = fitPage(read, this.#contentOf, this.#fits)
      this.#position = next
      if (isEnd) this.#nextReadAt = readAt + (entries.length === 0 ? IDLE_INTERVAL : MIN_INTERVAL)
      if (entries.length > 0 || signal.aborted || readAt > until) {
        const text = entries.reduce((sum, entry) => sum + ENTRY_TEXT + changeText(entry), 0)
        const page = { from, next, content, isShared: true, text }
        this.#pages = text === 0 ? [] : [...this.#pages, page]
        this.#trim()
        return page
      }
    }
  }

  #trim(): void {
    let kept = this.#pages.reduce((sum, { text }) => sum + text, 0)
    for (; kept > KEPT_TEXT && this.#pages.length > 1; this.#pages.shift()) kept -= this.#pages[0]?.text ?? 0
  }
}

/** Makes what is needed of a page. Halves the page until that fits, or until it has one entry. */
function fitPage<Content>(
  page: ChangePage,
  contentOf: (entries: readonly ChangeEntry[]) => Content,
  fits: (content: Content) => boolean,
): ChangePage & { readonly content: Content } {
  const content = contentOf(page.entries)
  if (page.entries.length < 2 || fits(content)) return { ...page, content }
  const entries = page.entries.slice(0, Math.ceil(page.entries.length / 2))
  return fitPage({ entries, next: entries.at(-1)?.position ?? page.next, isEnd: false }, contentOf, fits)
}
