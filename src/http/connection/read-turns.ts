import { Arrivals } from './arrivals.ts'
import type { Connection } from './connection.ts'

/** Memory for requests that wait behind others, and bytes of large bodies, from which on a turn does harm. */
const TURN_BYTES = 2 * 2 ** 20

/** Connections that are let read in one turn while those before them did no harm. */
const MOST = 64

/** Turns that requests made harmful, from which on the input of every connection that is read is parted. */
const FLOOD = 2

interface Queue {
  readonly next: () => Connection | undefined
  /** Whether the input of its connections is always parted. */
  readonly isParted: boolean
  /** Connections that are let read in one turn. */
  size: number
}

/**
 * Whose turn it is to be read once connections send more than one turn of the event loop can bear.
 *
 * Node parses a chunk of 64 KiB at once: up to 3,600 requests, 4 MB and 20 ms. Chunks of 1,000 connections may be ready in
 * one turn, which would take 15 s and 2.5 GB; chunks of bodies would take a second. As long as nobody does that, every
 * connection is read at any time and none pays for this. The first chunk that is too much holds all others, in the middle
 * of the turn: libuv passes over a socket that is stopped before its event was handled. They are then read in turns, few
 * at a time while they do harm, and in small parts.
 */
export class ReadTurns {
  readonly #all: () => Iterable<Connection>
  /** Those of which nothing was ever read, by age. */
  readonly #fresh: Connection[] = []
  readonly #known = new Set<Connection>()
  /** Those whose requests wait for others of their own, or that send large bodies. */
  readonly #heavy = new Set<Connection>()
  readonly #queues: readonly Queue[]
  readonly #arrivals = new Arrivals()
  #at = 0
  #takesNewest = false
  #requestBytes = 0
  #inputBytes = 0
  #floodTurns = 0
  #isHolding = false
  #isCounting = false

  /** @param all gives all connections that are open */
  constructor(all: () => Iterable<Connection>) {
    this.#all = all
    this.#queues = [
      { next: () => firstOf(this.#known), isParted: false, size: 1 },
      { next: () => this.#nextFresh(), isParted: false, size: 1 },
      { next: () => firstOf(this.#heavy), isParted: true, size: 1 },
    ]
  }

  /** Counts memory for a request that waits behind others. */
  countRequest(bytes: number): void {
    this.#requestBytes += bytes
    this.#count()
  }

  /** Counts bytes of a chunk that is parsed in parts. */
  countInput(bytes: number): void {
    this.#inputBytes += bytes
    this.#count()
  }

  /** Takes a new connection. */
  add(connection: Connection): void {
    if (!this.#isHolding) return
    this.#arrivals.add()
    // Node begins to read it behind this event.
    process.nextTick(() => this.#hold(connection))
  }

  /** Lets a connection whose requests waited be read when its turn has come. */
  ask(connection: Connection): void {
    if (this.#isHolding) this.#heavy.add(connection)
    else connection.read()
  }

  forget(connection: Connection): void {
    this.#known.delete(connection)
    this.#heavy.delete(connection)
  }

  #count(): void {
    if (this.#isHarmful) this.#holdAll()
    if (this.#isCounting || this.#isHolding) return
    this.#isCounting = true
    setImmediate(() => {
      this.#isCounting = false
      if (!this.#isHolding) this.#beginTurn()
    })
  }

  get #isHarmful(): boolean {
    return this.#requestBytes > TURN_BYTES || this.#inputBytes > TURN_BYTES
  }

  #beginTurn(): void {
    this.#requestBytes = 0
    this.#inputBytes = 0
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
    if (connection.isHeavy) this.#heavy.add(connection)
    else if (connection.wasRead) this.#known.add(connection)
    else this.#fresh.push(connection)
  }

  readonly #turn = (): void => {
    if (this.#arrivals.giveWay()) {
      setImmediate(this.#turn)
      return
    }
    const last = this.#queues[this.#at] as Queue
    last.size = this.#isHarmful ? 1 : Math.min(MOST, 2 * last.size)
    if (this.#requestBytes > TURN_BYTES) this.#floodTurns++
    this.#beginTurn()
    let read = 0
    for (let tries = 0; tries < this.#queues.length && read === 0; tries++) {
      this.#at = (this.#at + 1) % this.#queues.length
      read = letRead(this.#queues[this.#at] as Queue, this.#floodTurns >= FLOOD)
    }
    this.#isHolding = read > 0
    if (this.#isHolding) setImmediate(this.#turn)
    else this.#floodTurns = 0
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

function letRead({ next, size, isParted }: Queue, isFlood: boolean): number {
  for (let count = 0; count < size; count++) {
    const connection = next()
    if (connection === undefined) return count
    if (isParted || isFlood) connection.partInput()
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
