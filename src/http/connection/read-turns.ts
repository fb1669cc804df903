import { Arrivals } from './arrivals.ts'
import type { ConnectionInput } from './connection-input.ts'

/** A turn is harmful when it adds more bytes of waiting requests than this, or more bytes of large bodies. */
const TURN_BYTES = 2 * 2 ** 20

/** The most connections that read in one turn. */
const MAX_READERS = 64

/** After this many turns that are harmful by their requests, every connection reads in parts. */
const FLOOD_TURNS = 2

interface Queue {
  readonly next: () => ConnectionInput | undefined
  /** Whether its connections always read in parts. */
  readonly isParted: boolean
  /** Connections that may read in one turn. */
  size: number
}

/**
 * Decides which connections read, once their input exceeds what one turn of the event loop can take.
 *
 * Node.js parses a chunk of 64 KiB at once: up to 3,600 requests, 4 MB and 20 ms. Chunks of 1,000 connections may be
 * ready in one turn, which would take 15 s and 2.5 GB; chunks of bodies would take a second.
 *
 * At first every connection reads at any time, at no cost. The first harmful chunk pauses all other connections in the
 * middle of the turn: libuv skips a socket that stops reading before its event. From then on connections read in turns,
 * one at a time after a harmful turn. Those with pipelined requests or large bodies read in small parts.
 */
export class ReadTurns {
  readonly #all: () => Iterable<ConnectionInput>
  /** Connections of which the service has read no byte so far, oldest first. */
  readonly #fresh: ConnectionInput[] = []
  readonly #known = new Set<ConnectionInput>()
  /** Connections with pipelined requests or large bodies. */
  readonly #heavy = new Set<ConnectionInput>()
  readonly #queues: readonly Queue[]
  readonly #arrivals = new Arrivals()
  #at = 0
  #takesNewest = false
  #requestBytes = 0
  #inputBytes = 0
  #floodTurns = 0
  #takesTurns = false
  #isCounting = false

  /** @param all returns all open connections */
  constructor(all: () => Iterable<ConnectionInput>) {
    this.#all = all
    this.#queues = [
      { next: () => firstOf(this.#known), isParted: false, size: 1 },
      { next: () => this.#nextFresh(), isParted: false, size: 1 },
      { next: () => firstOf(this.#heavy), isParted: true, size: 1 },
    ]
  }

  /** Counts the memory of a request that waits behind others. */
  countRequest(bytes: number): void {
    this.#requestBytes += bytes
    this.#count()
  }

  /** Counts the bytes of a chunk that is parsed in parts. */
  countInput(bytes: number): void {
    this.#inputBytes += bytes
    this.#count()
  }

  /** Adds a new connection. */
  add(connection: ConnectionInput): void {
    if (!this.#takesTurns) return
    this.#arrivals.add()
    // Node starts reading the connection after this event.
    process.nextTick(() => this.#pause(connection))
  }

  /** Lets a connection read again after its requests have waited: in its turn, or at once while none is paused. */
  ask(connection: ConnectionInput): void {
    if (this.#takesTurns) this.#heavy.add(connection)
    else connection.read()
  }

  forget(connection: ConnectionInput): void {
    this.#known.delete(connection)
    this.#heavy.delete(connection)
  }

  #count(): void {
    if (this.#isHarmful) this.#pauseAll()
    if (this.#isCounting || this.#takesTurns) return
    this.#isCounting = true
    setImmediate(() => {
      this.#isCounting = false
      if (!this.#takesTurns) this.#beginTurn()
    })
  }

  get #isHarmful(): boolean {
    return this.#requestBytes > TURN_BYTES || this.#inputBytes > TURN_BYTES
  }

  #beginTurn(): void {
    this.#requestBytes = 0
    this.#inputBytes = 0
  }

  #pauseAll(): void {
    for (const connection of this.#all()) this.#pause(connection)
    if (this.#takesTurns) return
    this.#takesTurns = true
    setImmediate(this.#turn)
  }

  #pause(connection: ConnectionInput): void {
    if (connection.isPaused || connection.isGone) return
    connection.pause()
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
    last.size = this.#isHarmful ? 1 : Math.min(MAX_READERS, 2 * last.size)
    if (this.#requestBytes > TURN_BYTES) this.#floodTurns++
    this.#beginTurn()
    let read = 0
    for (let tries = 0; tries < this.#queues.length && read === 0; tries++) {
      this.#at = (this.#at + 1) % this.#queues.length
      read = letRead(this.#queues[this.#at] as Queue, this.#floodTurns >= FLOOD_TURNS)
    }
    this.#takesTurns = read > 0
    if (this.#takesTurns) setImmediate(this.#turn)
    else this.#floodTurns = 0
  }

  /** Alternates between the newest and the oldest, so that a new client does not wait for the rest of a flood. */
  #nextFresh(): ConnectionInput | undefined {
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
    if (isParted || isFlood) connection.part()
    connection.read()
  }
  return size
}

function firstOf(connections: Set<ConnectionInput>): ConnectionInput | undefined {
  for (const connection of connections) {
    connections.delete(connection)
    return connection
  }
  return undefined
}
