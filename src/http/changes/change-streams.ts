import { ChangeTail, TAIL_PAGE } from '../../domain/change-tail.ts'
import {
  type ChangeEntry,
  type ChangeLog,
  type ChangeLogUse,
  type ChangePage,
  type ChangeRequest,
  entryJson,
  isSelected,
  type Selectable,
  within,
} from '../../domain/changes.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { hasTagging, type TagFilter } from '../../domain/plant-query.ts'
import { abortable } from '../../domain/store.ts'
import { inOneLine } from '../../json/lines.ts'
import type { ServiceState } from '../answer/responder.ts'
import { inBackground, type Metrics } from '../metrics/metrics.ts'

/** Milliseconds without an entry after which a stream sends its position. */
const BEAT_TIME = 15_000
/** Milliseconds after which a stream ends by itself, give or take a tenth, so that clients spread over instances. */
const LIFETIME = 3_600_000
/** The first line of each stream: milliseconds after which a client connects again. */
const RETRY = 'retry: 2000\n'

const DATA = '\ndata: '
/** An entry as an event (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
const entryEvent = (entry: ChangeEntry): string => `id: ${entry.position}${DATA}${inOneLine(entryJson(entry))}\n\n`
/** An event that only moves the position of the client. */
const positionEvent = (position: string): string => `id: ${position}\n\n`

/** What decides whether a stream wants an event. */
interface SharedEvent extends Selectable {
  readonly text: string
  readonly position: string
}

/** The event as a stream with a part has it; undefined where the part has none. */
function eventIn(part: TagFilter['part'], event: SharedEvent): SharedEvent | undefined {
  if (part === undefined) return event
  const json = event.text.slice(event.text.indexOf(DATA) + DATA.length)
  // A text of JSON has its quotation marks escaped, so this finds the ids alone; as numbers they would be rounded.
  const { time, plant, before, ...entry } = JSON.parse(json.replaceAll(/"id":(-?\d+)/g, '"id":"$1"')) as EventData
  const [after, earlier] = [plant, before].map((each) => each && { ...each, id: BigInt(each.id) })
  const own = within(part, { ...entry, time: Date.parse(time), plant: after, before: earlier })
  return own && { ...own, text: entryEvent(own) }
}

type PlantData = Omit<NewPlant, 'id'> & { readonly id: string }
type EventData = Pick<ChangeEntry, 'position' | 'type' | 'token' | 'action'> & {
  readonly time: string
  readonly plant: PlantData | undefined
  readonly before: PlantData | undefined
}

/**
 * The events of a page at the end of the log, for all streams. Objects for them would outlive many collections of
 * garbage, which copy them: that took a sixth of the processor time of creates. Only streams for some tags make them, once.
 */
class SharedEvents {
  readonly bytes: Buffer
  readonly count: number
  #each: readonly SharedEvent[] | undefined

  constructor(entries: readonly ChangeEntry[]) {
    this.bytes = Buffer.from(entries.map(entryEvent).join(''))
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

/** What a stream sends at once, or nothing, and the position after it. */
interface Part extends Pick<SharedEvents, 'bytes' | 'count'> {
  readonly next: string
  /** Whether it is at the end of the log. */
  readonly isEnd: boolean
}

interface OpenStream {
  /** `performance.now()` when the stream last had all entries; undefined while it has. */
  behindSince: number | undefined
}

export type ReadPage = (request: ChangeRequest) => Promise<ChangePage>

/** The streams of changes: at the end of the log they share one read, and before it each reads the store by itself. */
export class ChangeStreams {
  readonly #log: ChangeLog
  readonly #tail: ChangeTail<SharedEvents>
  readonly #closing: AbortSignal
  readonly #state: ServiceState
  readonly #open = new Set<OpenStream>()
  #sent = 0

  /** @param closing aborts when the service closes */
  constructor(log: ChangeLog, state: ServiceState, closing: AbortSignal) {
    this.#log = log
    this.#tail = new ChangeTail(log, (entries) => new SharedEvents(entries))
    this.#closing = closing
    closing.addEventListener('abort', () => this.#tail.wake())
    this.#state = state
  }

  describe(metrics: Metrics): void {
    const none: ChangeLogUse = { entries: 0, bytes: 0, oldest: undefined }
    const use = inBackground(() => this.#log.usage(), none)
    metrics.value('plantstore_changes', () => use().entries)
    metrics.value('plantstore_changes_bytes', () => use().bytes)
    metrics.value('plantstore_changes_age_seconds', () => (Date.now() - (use().oldest ?? Date.now())) / 1000)
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
    after: string | undefined,
    tagging: TagFilter,
    read: ReadPage,
    signal: AbortSignal,
  ): AsyncGenerator<string | Buffer, void> {
    const stream: OpenStream = { behindSince: performance.now() }
    this.#open.add(stream)
    const endsAt = performance.now() + LIFETIME * (0.9 + 0.2 * Math.random())
    let beatAt = performance.now() + BEAT_TIME
    try {
      let part = await this.#after(after, false, tagging, read, signal)
      signal.throwIfAborted()
      // With the position, a client that began at `now` misses nothing if it connects again before the first entry.
      yield RETRY + (after === undefined ? '\n' : positionEvent(after))
      while (part !== undefined) {
        const { next, isEnd }: Part = part
        if (part.count > 0 || performance.now() >= beatAt) {
          this.#sent += part.count
          yield part.count > 0 ? part.bytes : positionEvent(next)
          beatAt = performance.now() + BEAT_TIME
        }
        // A stream that waits holds no page.
        part = undefined
        if (this.#closing.aborted || this.#state.current !== 'serving' || performance.now() >= endsAt) return
        if (isEnd) stream.behindSince = undefined
        part = await this.#after(next, isEnd, tagging, read, signal)
        stream.behindSince = performance.now()
      }
    } finally {
      this.#open.delete(stream)
    }
  }

  /** Returns undefined once the signal aborts, even while the store does not answer. */
  async #after(
    position: string | undefined,
    wasEnd: boolean,
    tagging: TagFilter,
    read: ReadPage,
    signal: AbortSignal,
  ): Promise<Part | undefined> {
    const readAlone = (after: string | undefined) => read({ limit: TAIL_PAGE, after, ...tagging })
    const page = await abortable(this.#tail.pageAfter(position, wasEnd, readAlone), signal).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    if (page === undefined) return undefined
    const { from, next: reached, content, isShared: isEnd } = page
    const next = position !== undefined && position > reached ? position : reached
    if (content.count === 0 || (from === position && (!hasTagging(tagging) || !wasEnd))) {
      return { bytes: content.bytes, count: content.count, next, isEnd }
    }
    const wanted = content.each.flatMap((event) => {
      const own = event.position > (position ?? '') ? eventIn(tagging.part, event) : undefined
      return own !== undefined && isSelected(tagging, own) ? own : []
    })
    return { bytes: Buffer.from(wanted.map(({ text }) => text).join('')), count: wanted.length, next, isEnd }
  }
}
