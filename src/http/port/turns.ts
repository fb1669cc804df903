import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { BoundUse } from '../../base/counts.ts'
import { AppError } from '../../domain/errors.ts'

/** The most consecutive turns of the event loop that deferred work skips. */
const MAX_SKIPPED = 7

/** Milliseconds that deferred tasks may take in one turn of the event loop. */
const MAX_TIME = 5

/**
 * Keeps turns of the event loop short while clients connect. Node.js accepts one connection per turn, so a client
 * behind a thousand others waits for a thousand turns.
 */
class AcceptBurst {
  #turns = 0
  #skipped = 0

  /** Takes note of a new connection. */
  add(): void {
    if (this.#turns === 0) setImmediate(this.#endTurn)
    this.#turns = 2
  }

  /** Whether a client connected in this turn, or in the one before: its request is read a turn after it connects. */
  get isOn(): boolean {
    return this.#turns > 0
  }

  /** Whether deferred work should skip this turn. Call it once per turn. */
  skipsTurn(): boolean {
    const skips = this.isOn && this.#skipped < MAX_SKIPPED
    this.#skipped = skips ? this.#skipped + 1 : 0
    return skips
  }

  readonly #endTurn = (): void => {
    if (--this.#turns > 0) setImmediate(this.#endTurn)
  }
}

/** Runs tasks in order in later turns of the event loop, for about MAX_TIME milliseconds of each turn. */
export class DeferredTasks {
  #tasks: (() => void)[] = []
  readonly #burst = new AcceptBurst()

  add(task: () => void): void {
    this.#tasks.push(task)
    if (this.#tasks.length === 1) setImmediate(this.#run)
  }

  /** Makes the tasks wait while new connections arrive. */
  accept(): void {
    this.#burst.add()
  }

  /** Whether new connections arrive. */
  get isAccepting(): boolean {
    return this.#burst.isOn
  }

  readonly #run = (): void => {
    if (this.#burst.skipsTurn()) {
      setImmediate(this.#run)
      return
    }
    const tasks = this.#tasks
    this.#tasks = []
    const end = performance.now() + MAX_TIME
    let done = 0
    do tasks[done++]?.()
    while (done < tasks.length && performance.now() < end)
    const hasNew = this.#tasks.length > 0
    if (done < tasks.length) this.#tasks = tasks.slice(done).concat(this.#tasks)
    if (this.#tasks.length > 0 && !hasNew) setImmediate(this.#run)
  }
}

/** Bytes of requests that begin to wait in one turn of the event loop, after which all other connections pause. */
const TURN_BYTES = 2 * 2 ** 20

/** The most connections that read in one turn. */
const MAX_READERS = 64

/** A connection as the scheduler sees it. */
interface Reader {
  readonly isPaused: boolean
  /** Whether no byte of it is parsed any more, or none is parsed yet. */
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

interface OverloadLimits {
  /** Milliseconds. */
  readonly maxDelay: number
  /** Bytes; undefined: MEMORY_SHARE of the memory of the machine or the container. */
  readonly maxMemory: number | undefined
}

/** The memory of the process, in bytes. */
export interface MemoryUse {
  readonly heap: number
  readonly maxHeap: number
  /** Bytes of buffers, which are outside the heap. */
  readonly external: number
}

/** Milliseconds between two checks of the clock and the memory. */
const INTERVAL = 100
/** The share of the maximum delay that one turn of the event loop may take, because a request waits for a few turns. */
const TURN_SHARE = 1 / 5
/** The share of V8's heap limit beyond which the service refuses requests. At the limit V8 ends the process. */
const HEAP_SHARE = 0.85
/** The default share of the memory that the service may take. */
const MEMORY_SHARE = 2 / 3

/**
 * Refuses requests when one turn of the event loop takes too long, and when memory is short. A refusal costs a fraction
 * of the work that it saves.
 *
 * Normally a request costs one comparison with the time that a timer noted. Only a turn beyond the limit, or a pause of
 * the whole process, delays the timer by more than the limit. To tell these apart, `refuseExcess` then measures the turn
 * from its first request.
 */
export class Overload {
  readonly #maxTurn: number
  readonly #maxMemory: number
  readonly #readMemory: () => MemoryUse
  readonly #timer: NodeJS.Timeout
  /** Refused requests, by their reasons. */
  readonly refused = { delay: 0, memory: 0 }
  #memory: MemoryUse
  #isFull = false
  #tickedAt = performance.now()
  /** The time of this turn's first request after which the timer was late; undefined without one. */
  #delayedSince: number | undefined

  constructor({ maxDelay, maxMemory = memoryShare() }: OverloadLimits, readMemory: () => MemoryUse = memoryUse) {
    this.#maxTurn = maxDelay * TURN_SHARE
    this.#maxMemory = maxMemory
    this.#readMemory = readMemory
    this.#memory = readMemory()
    this.#timer = setInterval(() => this.#tick(), INTERVAL).unref()
  }

  /** The bytes of the heap and of buffers. */
  get memory(): BoundUse {
    return { max: this.#maxMemory, used: this.#memory.heap + this.#memory.external }
  }

  /** The bytes of the heap. */
  get heap(): BoundUse {
    return { max: HEAP_SHARE * this.#memory.maxHeap, used: this.#memory.heap }
  }

  /**
   * @param now `performance.now()` when the request began
   * @throws AppError 50302 when the turn takes too long, or memory is short
   */
  refuseExcess(now: number): void {
    if (this.#isFull) {
      this.refused.memory++
      throw new AppError(50302, 'the service is short of memory; nothing was done, retry later')
    }
    if (now - this.#tickedAt <= this.#maxTurn) return
    if (this.#delayedSince === undefined) {
      this.#delayedSince = now
      setImmediate(() => {
        this.#delayedSince = undefined
      })
    } else if (now - this.#delayedSince > this.#maxTurn) {
      this.refused.delay++
      throw new AppError(50302, 'too many requests came at once; nothing was done, retry later')
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    this.#tickedAt = performance.now()
    this.#memory = this.#readMemory()
    this.#isFull = [this.heap, this.memory].some(({ used, max }) => used > max)
  }
}

function memoryUse(): MemoryUse {
  const { used_heap_size, heap_size_limit, external_memory } = getHeapStatistics()
  return { heap: used_heap_size, maxHeap: heap_size_limit, external: external_memory }
}

function memoryShare(): number {
  const constrained = process.constrainedMemory()
  return MEMORY_SHARE * Math.min(totalmem(), constrained === 0 ? Number.POSITIVE_INFINITY : constrained)
}
