import { Arrivals } from './arrivals.ts'
import type { Connection } from './connection.ts'

/** Memory of waiting requests, and bytes of large bodies, with which a turn counts as harmful. */
const TURN_BYTES = 2 * 2 ** 20

/** Connections that read in one turn while earlier turns were harmless. */
const MOST = 64

/** After this many turns that requests made harmful, the input of every connection is parted. */
const FLOOD = 2

interface Queue {
  readonly next: () => Connection | undefined
  /** Whether every connection has a parted input from its start. */
  readonly isParted: boolean
  /** Connections that may read in one turn. */
  size: number
}

/**
 * Decides which connections read, once their input exceeds what one turn of the event loop can take.
 *
 * Node parses a chunk of 64 KiB at once: up to 3,600 requests, 4 MB and 20 ms. Chunks of 1,000 connections may be ready
 * in one turn, which would take 15 s and 2.5 GB; chunks of bodies would take a second. Below that, every connection
 * reads at any time, at no cost. The first harmful chunk holds all other connections in the middle of the turn: libuv
 * skips a socket that is stopped before its event was handled. Then connections read in turns, few at a time while they
 * do harm, and in small parts.
 */
export class ReadTurns {
  readonly #all: () => Iterable<Connection>
  /** Connections without a byte read so far, by age. */
  readonly #fresh: Connection[] = []
  readonly #known = new Set<Connection>()
  /** Connections with pipelined requests or large bodies. */
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

  /** Adds a new connection. */
  add(connection: Connection): void {
    if (!this.#isHolding) return
    this.#arrivals.add()
    // Node begins to read it after this event.
    process.nextTick(() => this.#hold(connection))
  }

  /** Reads a connection whose requests waited, once its turn has come. */
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

  /** Takes the newest and the oldest in turn, so that a new client does not wait for the rest of a flood. */
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
