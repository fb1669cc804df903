import { totalmem } from 'node:os'
import { getHeapStatistics, type HeapInfo } from 'node:v8'
import type { BoundUse } from '../../base/counts.ts'
import { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'

/** The most consecutive turns of the event loop that other work skips while clients connect. */
const MAX_SKIPPED = 7

/** Milliseconds that deferred tasks may take in one turn of the event loop. */
const MAX_TIME = 5

/**
 * Runs tasks in order in later turns of the event loop, for about MAX_TIME milliseconds of each turn. While clients
 * connect, it skips up to MAX_SKIPPED turns in a row: Node.js accepts one connection per turn, so a client behind a
 * thousand others waits for a thousand turns.
 */
export class DeferredTasks {
  readonly #tasks: (() => void)[] = []
  #acceptingTurns = 0
  #skipped = 0

  add(task: () => void): void {
    if (this.#tasks.push(task) === 1) setImmediate(this.#run)
  }

  /** Takes note of a new connection. */
  accept(): void {
    if (this.#acceptingTurns === 0) setImmediate(this.#endTurn)
    this.#acceptingTurns = 2
  }

  /** Whether a client connected in this turn, or in the one before: its request is read a turn after it connects. */
  get isAccepting(): boolean {
    return this.#acceptingTurns > 0
  }

  readonly #endTurn = (): void => {
    if (--this.#acceptingTurns > 0) setImmediate(this.#endTurn)
  }

  readonly #run = (): void => {
    if (!this.isAccepting || this.#skipped++ === MAX_SKIPPED) {
      this.#skipped = 0
      const due = this.#tasks.length
      const end = performance.now() + MAX_TIME
      let done = 0
      do this.#tasks[done++]?.()
      while (done < due && performance.now() < end)
      this.#tasks.splice(0, done)
    }
    if (this.#tasks.length > 0) setImmediate(this.#run)
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

  /** @param all returns all open connections */
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

  /** Adds a new connection. */
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

/** The memory of the process, in bytes. Buffers are outside the heap. */
export type MemoryUse = Pick<HeapInfo, 'used_heap_size' | 'heap_size_limit' | 'external_memory'>

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

  constructor(
    { maxDelay, maxMemory = memoryShare() }: Pick<Config, 'maxDelay' | 'maxMemory'>,
    readMemory: () => MemoryUse = getHeapStatistics,
  ) {
    this.#maxTurn = maxDelay * TURN_SHARE
    this.#maxMemory = maxMemory
    this.#readMemory = readMemory
    this.#memory = readMemory()
    this.#timer = setInterval(() => this.#tick(), INTERVAL).unref()
  }

  /** The bytes of the heap and of buffers. */
  get memory(): BoundUse {
    return { max: this.#maxMemory, used: this.#memory.used_heap_size + this.#memory.external_memory }
  }

  /** The bytes of the heap. */
  get heap(): BoundUse {
    return { max: HEAP_SHARE * this.#memory.heap_size_limit, used: this.#memory.used_heap_size }
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

function memoryShare(): number {
  const constrained = process.constrainedMemory()
  return MEMORY_SHARE * Math.min(totalmem(), constrained === 0 ? Number.POSITIVE_INFINITY : constrained)
}
