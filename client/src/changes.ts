import type { ChangeEntry } from './contract.generated.ts'
import { parseExact } from './exact-json.ts'
import { linesOf } from './lines.ts'
import { plantOf } from './plants.ts'
import { isTransient, pause } from './transport.ts'

/** Milliseconds before the client connects again. */
const PAUSE = 2000
/** Milliseconds without a line after which the connection is dead: the service sends one every 15 s. */
const SILENCE = 45_000

export interface ChangesQuery {
  /** The position after which to begin, such as the one of an export; `now` for the end; by default the oldest kept. */
  readonly after?: string | undefined
  /** Only entries whose plant has, or had, one of these tags. */
  readonly tag?: string | readonly string[] | undefined
  /** Only entries whose plant has, or had, a tag that begins so. */
  readonly tagPrefix?: string | undefined
  /** Only entries whose plant is, or was, without a tag. */
  readonly untagged?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  /**
   * Called with the position from which the iterator would go on: once a stream has begun, after each entry that was
   * taken, and past entries that it leaves out.
   */
  readonly onPosition?: ((position: string) => void) | undefined
}

export function entryOf(json: unknown): ChangeEntry {
  const { plant, before, ...rest } = json as ChangeEntry
  return {
    ...rest,
    ...(plant === undefined ? {} : { plant: plantOf(plant) }),
    ...(before === undefined ? {} : { before: plantOf(before) }),
  }
}

/**
 * Yields the entries of streams, each of which begins where the one before ended. After the first stream, it waits for a
 * service that is away for as long as that takes.
 *
 * @param open opens a stream after a position; rejects when the service refuses it
 */
export async function* entriesOf(
  open: (after: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array>>,
  { after, signal, onPosition }: ChangesQuery,
): AsyncGenerator<ChangeEntry, void, undefined> {
  let hasBegun = false
  for (let position = after; ; await pause(PAUSE * (0.5 + Math.random()), signal)) {
    const ending = new AbortController()
    const end = () => ending.abort(signal?.reason)
    signal?.addEventListener('abort', end)
    let timer: ReturnType<typeof setTimeout> | undefined
    try {
      signal?.throwIfAborted()
      const stream = await open(position, ending.signal).catch((error: unknown) => {
        // A service may be away for long, such as for an upgrade.
        if (hasBegun && !ending.signal.aborted && isTransient(error)) return undefined
        throw error
      })
      if (stream === undefined) continue
      hasBegun = true
      let [id, data]: (string | undefined)[] = []
      const lines = linesOf(stream)
      for (;;) {
        timer = setTimeout(end, SILENCE)
        const { done, value: line = '' } = await lines.next().catch(ended)
        clearTimeout(timer)
        if (done) break
        if (line.startsWith('id: ')) id = line.slice(4)
        else if (line.startsWith('data: ')) data = line.slice(6)
        else if (line === '') {
          position = id ?? position
          if (data !== undefined) yield entryOf(parseExact(data))
          if (id !== undefined) onPosition?.(id)
          id = data = undefined
        }
      }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      ending.abort()
    }
  }
}

/** A connection that breaks off ends its stream like any other. */
const ended = (): IteratorResult<string, void> => ({ done: true, value: undefined })
