import { setTimeout as sleep } from 'node:timers/promises'
import { ALL_CHANGES, type ChangeEntry, type ChangeFilter, type ChangeLog, type ChangePage } from './changes.ts'

/** Entries of a page: 1.4 MB of JSON, if all of their plants are as large as can be. */
export const TAIL_PAGE = 100
/** Pages that are kept. Readers that lag by no more need no read of their own. */
const KEPT_PAGES = 16
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

type KeptPage<Content> = TailPage<Content> & { readonly from: string }

/**
 * Reads the end of the log of changes once for all readers that are there: streams, or webhooks. It reads only while one
 * of them waits, and keeps the last pages. A reader that lags by more reads by itself until it is at the end again.
 */
export class ChangeTail<Content> {
  readonly #log: ChangeLog
  readonly #contentOf: (entries: readonly ChangeEntry[]) => Content
  /** The last pages without a gap, oldest first. */
  #pages: KeptPage<Content>[] = []
  /** The position after which the next read begins. */
  #position = ''
  #filter = ALL_CHANGES
  #reading: Promise<TailPage<Content>> | undefined
  #waiting = new AbortController()
  #nextReadAt = 0

  /** @param contentOf makes of entries what all readers share */
  constructor(log: ChangeLog, contentOf: (entries: readonly ChangeEntry[]) => Content) {
    this.#log = log
    this.#contentOf = contentOf
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
      const { isEnd, next, entries } = await readAlone(position)
      return { next, content: this.#contentOf(entries), from: position, isShared: isEnd }
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
      const read = await this.#log.read({ limit: TAIL_PAGE, ...filter, after: this.#position })
      if (filter !== this.#filter) continue
      const { next, isEnd, entries } = read
      this.#position = next
      if (isEnd) this.#nextReadAt = readAt + (entries.length === 0 ? IDLE_INTERVAL : MIN_INTERVAL)
      if (entries.length > 0 || signal.aborted || readAt > until) {
        const page = { from, next, content: this.#contentOf(entries), isShared: true }
        this.#pages = entries.length === 0 ? [] : [...this.#pages, page].slice(-KEPT_PAGES)
        return page
      }
    }
  }
}
