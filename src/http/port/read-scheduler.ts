import { type DeferredTasks, MAX_SKIPPED } from '../admission/turns.ts'

/** Bytes of requests that begin to wait in one turn of the event loop, after which all other connections pause. */
const TURN_BYTES = 2 * 2 ** 20

/** The most connections that read in one turn. */
const MAX_READERS = 64

/** A connection as the scheduler sees it. */
interface Reader {
  readonly isPaused: boolean
  readonly isGone: boolean
  readonly wasRead: boolean
  pause(): void
  read(): void
}

interface Queue {
  readonly connections: Reader[]
  /** Connections that may read in its next turn. */
  size: number
}

/**
 * Decides which connections read, once their requests exceed what one turn of the event loop can take.
 *
 * Node.js parses a chunk of 64 KiB at once: up to 3,600 requests, 7 MB and 20 ms. Chunks of 1,000 connections may be
 * ready in one turn, which would take 15 s and gigabytes.
 *
 * While no request waits, every connection reads at any time, at no cost. Past TURN_BYTES, all other connections pause
 * in the middle of the turn: libuv skips a socket that stops reading before its event. From then on, those that the
 * service has read before and new ones read in turns: one of them after a turn with more than TURN_BYTES, else twice as
 * many as before.
 */
export class ReadScheduler {
  readonly #all: () => Iterable<Reader>
  readonly #deferred: DeferredTasks
  readonly #known: Queue = { connections: [], size: 1 }
  readonly #fresh: Queue = { connections: [], size: 1 }
  #reading = this.#known
  #takesNewest = false
  /** Bytes of requests that began to wait since the last turn. */
  #bytes = 0
  #takesTurns = false
  #skipped = 0

  constructor(all: () => Iterable<Reader>, deferred: DeferredTasks) {
    this.#all = all
    this.#deferred = deferred
  }

  /** Counts the memory of a request that waits behind others. */
  count(bytes: number): void {
    const isOver = this.#bytes > TURN_BYTES
    this.#bytes += bytes
    if (!isOver && this.#bytes > TURN_BYTES) for (const connection of this.#all()) this.#pause(connection)
    if (!this.#takesTurns) setImmediate(this.#turn)
    this.#takesTurns = true
  }

  add(connection: Reader): void {
    // Node starts reading the connection after this event.
    if (this.#arePaused) process.nextTick(() => this.#pause(connection))
  }

  get #arePaused(): boolean {
    return this.#known.connections.length + this.#fresh.connections.length > 0
  }

  #pause(connection: Reader): void {
    if (connection.isPaused || connection.isGone) return
    connection.pause()
    const { connections } = connection.wasRead ? this.#known : this.#fresh
    connections.push(connection)
  }

  readonly #turn = (): void => {
    if (!this.#arePaused || !this.#deferred.isAccepting || this.#skipped++ === MAX_SKIPPED) {
      this.#skipped = 0
      this.#reading.size = this.#bytes > TURN_BYTES ? 1 : Math.min(MAX_READERS, 2 * this.#reading.size)
      this.#bytes = 0
      const other = this.#reading === this.#known ? this.#fresh : this.#known
      this.#takesTurns = this.#read(other) || this.#read(this.#reading)
    }
    if (this.#takesTurns) setImmediate(this.#turn)
  }

  /**
   * Lets the next connections of a queue read. Alternates between the newest and the oldest, so that a new client does
   * not wait for the rest of a flood. @returns whether there are any
   */
  #read(queue: Queue): boolean {
    let read = 0
    while (read < queue.size && queue.connections.length > 0) {
      this.#takesNewest = !this.#takesNewest
      const connection = this.#takesNewest ? queue.connections.pop() : queue.connections.shift()
      if (connection === undefined || connection.isGone) continue
      connection.read()
      read++
    }
    if (read > 0) this.#reading = queue
    return read > 0
  }
}
