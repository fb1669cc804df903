import type { Connection } from './connection.ts'

/** Memory for requests that wait behind others, made in one turn of the event loop, from which on others are held. */
const TURN_BYTES = 2 * 2 ** 20

/** Connections that are let read in one turn while those before them did no harm. */
const MOST = 64

interface Queue {
  readonly next: () => Connection | undefined
  /** Connections that are let read in one turn. */
  size: number
}

/**
 * Whose turn it is to be read once connections send more requests ahead than one turn of the event loop can bear.
 *
 * Node parses a chunk of 64 KiB at once: up to 3,600 requests, 4 MB and 20 ms. Chunks of 1,000 connections may be ready in
 * one turn, which would take 15 s and 2.5 GB. As long as nobody does that, every connection is read at any time and none
 * pays for this. The first chunk that is too much holds all others, in the middle of the turn: libuv passes over a socket
 * that is stopped before its event was handled. They are then read in turns, few at a time while they do harm.
 */
export class ReadTurns {
  readonly #all: () => Iterable<Connection>
  /** Those of which nothing was ever read, by age. */
  readonly #fresh: Connection[] = []
  readonly #known = new Set<Connection>()
  /** Those whose requests wait for others of their own. */
  readonly #ahead = new Set<Connection>()
  readonly #queues: readonly Queue[]
  #at = 0
  #takesNewest = false
  #bytes = 0
  #isHolding = false
  #isCounting = false

  /** @param all gives all connections that are open */
  constructor(all: () => Iterable<Connection>) {
    this.#all = all
    this.#queues = [
      { next: () => firstOf(this.#known), size: 1 },
      { next: () => this.#nextFresh(), size: 1 },
      { next: () => firstOf(this.#ahead), size: 1 },
    ]
  }

  /** Counts memory for requests that wait behind others. */
  count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > TURN_BYTES) this.#holdAll()
    if (this.#isCounting || this.#isHolding) return
    this.#isCounting = true
    setImmediate(() => {
      this.#isCounting = false
      if (!this.#isHolding) this.#bytes = 0
    })
  }

  /** Takes a new connection. */
  add(connection: Connection): void {
    // Node begins to read it behind this event.
    if (this.#isHolding) process.nextTick(() => this.#hold(connection))
  }

  /** Lets a connection whose requests waited be read when its turn has come. */
  ask(connection: Connection): void {
    if (this.#isHolding) this.#ahead.add(connection)
    else connection.read()
  }

  forget(connection: Connection): void {
    this.#known.delete(connection)
    this.#ahead.delete(connection)
  }

  #holdAll(): void {
    for (const connection of this.#all()) this.#hold(connection)
    if (this.#isHolding) return
    this.#isHolding = true
    setImmediate(this.#turn)
  }

  #hold(connection: Connection): void {
    if (connection.isHeld || connection.isGone) return
    connection.hold()
    if (connection.wasRead) this.#known.add(connection)
    else this.#fresh.push(connection)
  }

  readonly #turn = (): void => {
    const last = this.#queues[this.#at] as Queue
    last.size = this.#bytes > TURN_BYTES ? 1 : Math.min(MOST, 2 * last.size)
    this.#bytes = 0
    let read = 0
    for (let tries = 0; tries < this.#queues.length && read === 0; tries++) {
      this.#at = (this.#at + 1) % this.#queues.length
      read = letRead(this.#queues[this.#at] as Queue)
    }
    this.#isHolding = read > 0
    if (this.#isHolding) setImmediate(this.#turn)
  }

  /** The newest and the oldest in turn, so that a client that comes now need not wait for all that a flood has left. */
  #nextFresh(): Connection | undefined {
    for (;;) {
      this.#takesNewest = !this.#takesNewest
      const connection = this.#takesNewest ? this.#fresh.pop() : this.#fresh.shift()
      if (connection === undefined || !connection.isGone) return connection
    }
  }
}

function letRead({ next, size }: Queue): number {
  for (let count = 0; count < size; count++) {
    const connection = next()
    if (connection === undefined) return count
    connection.read()
  }
  return size
}

function firstOf(connections: Set<Connection>): Connection | undefined {
  for (const connection of connections) {
    connections.delete(connection)
    return connection
  }
  return undefined
}
