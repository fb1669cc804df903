import { AcceptBurst } from './deferred-tasks.ts'

/** Bytes of requests that begin to wait in one turn of the event loop, after which all other connections pause. */
const TURN_BYTES = 2 * 2 ** 20

/** The most connections that read in one turn. */
const MAX_READERS = 64

/** A connection as the scheduler sees it. */
export interface Reader {
  readonly isPaused: boolean
  /** Whether no byte of it is parsed any more. */
  readonly isGone: boolean
  /** Whether the service has read a byte of it. */
  readonly wasRead: boolean
  /** Bytes of memory of its waiting requests. */
  readonly queuedBytes: number
  pause(): void
  read(): void
}

interface Queue {
  readonly next: () => Reader | undefined
  /** Connections that may read in one turn. */
  size: number
}

/**
 * Decides which connections read, once their requests exceed what one turn of the event loop can take.
 *
 * Node.js parses a chunk of 64 KiB at once: up to 3,600 requests, 7 MB and 20 ms. Chunks of 1,000 connections may be
 * ready in one turn, which would take 15 s and gigabytes.
 *
 * At first every connection reads at any time, at no cost. Past TURN_BYTES, all other connections pause in the middle
 * of the turn: libuv skips a socket that stops reading before its event. From then on connections read in turns, one at
 * a time after a turn with more than TURN_BYTES.
 */
export class ReadScheduler {
  readonly #all: () => Iterable<Reader>
  /** Connections of which the service has read no byte so far, oldest first. */
  readonly #fresh: Reader[] = []
  readonly #known = new Set<Reader>()
  /** Connections with waiting requests. */
  readonly #pipelining = new Set<Reader>()
  readonly #queues: readonly Queue[]
  readonly #burst = new AcceptBurst()
  #at = 0
  #takesNewest = false
  #bytes = 0
  #takesTurns = false
  #isCounting = false

  /** @param all returns all open connections */
  constructor(all: () => Iterable<Reader>) {
    this.#all = all
    this.#queues = [
      { next: () => firstOf(this.#known), size: 1 },
      { next: () => this.#nextFresh(), size: 1 },
      { next: () => firstOf(this.#pipelining), size: 1 },
    ]
  }

  /** Counts the memory of a request that waits behind others. */
  count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > TURN_BYTES) this.#pauseAll()
    if (this.#isCounting || this.#takesTurns) return
    this.#isCounting = true
    setImmediate(() => {
      this.#isCounting = false
      if (!this.#takesTurns) this.#bytes = 0
    })
  }

  /** Adds a new connection. */
  add(connection: Reader): void {
    if (!this.#takesTurns) return
    this.#burst.add()
    // Node starts reading the connection after this event.
    process.nextTick(() => this.#pause(connection))
  }

  forget(connection: Reader): void {
    this.#known.delete(connection)
    this.#pipelining.delete(connection)
  }

  #pauseAll(): void {
    for (const connection of this.#all()) this.#pause(connection)
    if (this.#takesTurns) return
    this.#takesTurns = true
    setImmediate(this.#turn)
  }

  #pause(connection: Reader): void {
    if (connection.isPaused || connection.isGone) return
    connection.pause()
    if (connection.queuedBytes > 0) this.#pipelining.add(connection)
    else if (connection.wasRead) this.#known.add(connection)
    else this.#fresh.push(connection)
  }

  readonly #turn = (): void => {
    if (this.#burst.skipsTurn()) {
      setImmediate(this.#turn)
      return
    }
    const last = this.#queues[this.#at] as Queue
    last.size = this.#bytes > TURN_BYTES ? 1 : Math.min(MAX_READERS, 2 * last.size)
    this.#bytes = 0
    let read = 0
    for (let tries = 0; tries < this.#queues.length && read === 0; tries++) {
      this.#at = (this.#at + 1) % this.#queues.length
      read = letRead(this.#queues[this.#at] as Queue)
    }
    this.#takesTurns = read > 0
    if (this.#takesTurns) setImmediate(this.#turn)
  }

  /** Alternates between the newest and the oldest, so that a new client does not wait for the rest of a flood. */
  #nextFresh(): Reader | undefined {
    for (;;) {
      this.#takesNewest = !this.#takesNewest
      const connection = this.#takesNewest ? this.#fresh.pop() : this.#fresh.shift()
      if (connection === undefined || !connection.isGone) return connection
    }
  }
}

/** @returns the number of connections that read now */
function letRead({ next, size }: Queue): number {
  for (let count = 0; count < size; count++) {
    const connection = next()
    if (connection === undefined) return count
    connection.read()
  }
  return size
}

function firstOf(connections: Set<Reader>): Reader | undefined {
  for (const connection of connections) {
    connections.delete(connection)
    return connection
  }
  return undefined
}
