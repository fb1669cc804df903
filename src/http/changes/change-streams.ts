import { ChangeTail, fitPage, TAIL_PAGE } from '../../domain/change-tail.ts'
import {
  type ChangeEntry,
  type ChangeLog,
  type ChangeLogUse,
  type ChangePage,
  type ChangeRequest,
  entryJson,
  isSelected,
  type Selectable,
} from '../../domain/changes.ts'
import type { ServiceState } from '../answer/responder.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** Milliseconds without an entry after which a stream sends its position. */
const BEAT_TIME = 15_000
/** Milliseconds after which a stream ends by itself, give or take a tenth, so that clients spread over instances. */
const LIFETIME = 3_600_000
/** Milliseconds between two looks at all streams: they end within a second of a stop of the service. */
const INTERVAL = 500
/** The first line of each stream: milliseconds after which a client connects again. */
const RETRY = 'retry: 2000\n'

/** Bytes of events that a stream may hold, unless a single one is larger. A page may have more: U+0001 takes six as JSON. */
const MAX_UNSENT = 2 ** 18

const DATA = '\ndata: '
/** An entry as an event (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
const entryEvent = (entry: ChangeEntry): string => `id: ${entry.position}${DATA}${entryJson(entry)}\n\n`
const eventsOf = (entries: readonly ChangeEntry[]): Buffer => Buffer.from(entries.map(entryEvent).join(''))
/** An event that only moves the position of the client. */
const positionEvent = (position: string): string => `id: ${position}\n\n`

interface OpenStream {
  beatAt: number
  readonly endsAt: number
  isOver: boolean
  /** `performance.now()` when the stream last had all entries; undefined while it has. */
  behindSince: number | undefined
  /** Ends a wait for new entries. */
  waiting: AbortController
}

/** What a stream sends at once, or nothing, and the position after it. */
interface Part {
  readonly bytes: Buffer
  readonly events: number
  readonly next: string
  /** Whether the log had no more entries. */
  readonly isEnd: boolean
}

/** What decides whether a stream wants an event. */
interface SharedEvent extends Selectable {
  readonly text: string
  readonly position: string
}

/**
 * The events of a page at the end of the log, for all streams. Objects for them would outlive many collections of
 * garbage, which copy them: that took a sixth of the processor time of creates. Only streams with tags make them, once.
 */
class SharedEvents {
  readonly bytes: Buffer
  readonly count: number
  #each: readonly SharedEvent[] | undefined

  constructor(entries: readonly ChangeEntry[]) {
    this.bytes = eventsOf(entries)
    this.count = entries.length
  }

  get each(): readonly SharedEvent[] {
    this.#each ??= this.bytes
      .toString()
      .split(/(?<=\n\n)/)
      .map((text) => ({ ...(JSON.parse(text.slice(text.indexOf(DATA) + DATA.length)) as SharedEvent), text }))
    return this.#each
  }
}

const NOTHING = Buffer.alloc(0)

export interface StreamRequest {
  readonly after: string | undefined
  readonly tags: readonly string[]
}

/** Reads a page for one stream. */
export type ReadPage = (request: ChangeRequest) => Promise<ChangePage>

/** The streams of changes: at the end of the log they share one read, and before it each reads the store by itself. */
export class ChangeStreams {
  readonly #log: ChangeLog
  readonly #tail: ChangeTail<SharedEvents>
  readonly #closing: AbortSignal
  readonly #state: ServiceState
  readonly #open = new Set<OpenStream>()
  #sent = 0
  #timer: NodeJS.Timeout | undefined

  /** @param closing aborts when the service closes */
  constructor(log: ChangeLog, state: ServiceState, closing: AbortSignal) {
    this.#log = log
    const fits = ({ bytes }: SharedEvents) => bytes.length <= MAX_UNSENT
    this.#tail = new ChangeTail(log, (entries) => new SharedEvents(entries), closing, { fits })
    this.#closing = closing
    this.#state = state
  }

  /** Registers the metrics of the log and of its streams. Each scrape asks the log for the use that the next one shows. */
  describe(metrics: Metrics): void {
    let use: ChangeLogUse = { entries: 0, bytes: 0, oldest: undefined }
    const ask = () =>
      this.#log.usage().then(
        (found) => {
          use = found
        },
        () => {},
      )
    metrics.value('plantstore_changes', () => {
      void ask()
      return use.entries
    })
    metrics.value('plantstore_changes_bytes', () => use.bytes)
    metrics.value('plantstore_changes_age_seconds', () => (Date.now() - (use.oldest ?? Date.now())) / 1000)
    metrics.value('plantstore_change_streams', () => this.#open.size)
    metrics.value('plantstore_change_events_total', () => this.#sent)
    metrics.value('plantstore_change_streams_lag_seconds', () => {
      const now = performance.now()
      return Math.max(0, ...[...this.#open].map(({ behindSince = now }) => now - behindSince)) / 1000
    })
  }

  /**
   * Yields the events after a position. It ends when the signal aborts, when the service stops, and after LIFETIME. An
   * error of the first read comes before the first piece.
   */
  async *events(
    { after, tags }: StreamRequest,
    read: ReadPage,
    signal: AbortSignal,
  ): AsyncGenerator<string | Buffer, void> {
    const stream = this.#add()
    const wake = () => stream.waiting.abort()
    signal.addEventListener('abort', wake)
    try {
      let part = await readPart(read, after, tags)
      // With the position, a client that began at `now` misses nothing if it connects again before the first entry.
      yield RETRY + (after === undefined ? '\n' : positionEvent(after))
      for (;;) {
        const { next, isEnd } = part
        if (part.events > 0 || performance.now() >= stream.beatAt) {
          this.#sent += part.events
          yield part.events > 0 ? part.bytes : positionEvent(next)
          stream.beatAt = performance.now() + BEAT_TIME
          // A stream that waits holds no page.
          part = { bytes: NOTHING, events: 0, next, isEnd }
        }
        if (signal.aborted || stream.isOver || this.#closing.aborted) return
        const isAtEnd = isEnd && !this.#tail.isBehind(next)
        part = isAtEnd ? await this.#fromTail(stream, next, tags) : await readPart(read, next, tags)
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#remove(stream)
    }
  }

  /** Waits for the next page at the end of the log, or until the stream has something else to do. */
  async #fromTail(stream: OpenStream, position: string, tags: readonly string[]): Promise<Part> {
    if (stream.waiting.signal.aborted) stream.waiting = new AbortController()
    stream.behindSince = undefined
    const page = await this.#tail.pageAfter(position, stream.waiting.signal)
    stream.behindSince = performance.now()
    if (page === undefined) return { bytes: NOTHING, events: 0, next: position, isEnd: true }
    const { from, next, content } = page
    const isWhole = tags.length === 0 && from === position
    if (isWhole) return { bytes: content.bytes, events: content.count, next, isEnd: true }
    const wanted = content.each.filter((event) => event.position > position && isSelected({ tags }, event))
    const bytes = Buffer.from(wanted.map(({ text }) => text).join(''))
    return { bytes, events: wanted.length, next: next > position ? next : position, isEnd: true }
  }

  #add(): OpenStream {
    const now = performance.now()
    const stream: OpenStream = {
      beatAt: now + BEAT_TIME,
      endsAt: now + LIFETIME * (0.9 + 0.2 * Math.random()),
      isOver: false,
      behindSince: now,
      waiting: new AbortController(),
    }
    this.#open.add(stream)
    this.#timer ??= setInterval(() => this.#look(), INTERVAL).unref()
    return stream
  }

  #remove(stream: OpenStream): void {
    this.#open.delete(stream)
    if (this.#open.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const now = performance.now()
    for (const stream of this.#open) {
      stream.isOver ||= this.#state.current !== 'serving' || now >= stream.endsAt
      if (stream.isOver || now >= stream.beatAt) stream.waiting.abort()
    }
  }
}

async function readPart(read: ReadPage, after: string | undefined, tags: readonly string[]): Promise<Part> {
  const page = await read({ ...TAIL_PAGE, after, tags })
  const { content, entries, next, isEnd } = fitPage(page, eventsOf, ({ length }) => length <= MAX_UNSENT)
  return { bytes: content, events: entries.length, next, isEnd }
}
