import { totalmem } from 'node:os'
import { getHeapStatistics, type HeapInfo } from 'node:v8'
import type { BoundUse } from '../../base/counts.ts'
import { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'

/** The most consecutive turns of the event loop that other work skips while clients connect. */
export const MAX_SKIPPED = 7

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

/** Milliseconds for which this thread has had a processor. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/**
 * Refuses requests when one turn of the event loop takes too much processor time, and when memory is short. A refusal
 * costs a fraction of the work that it saves. A turn that other processes keep waiting for a processor refuses none: that
 * would save no work, and the requests have waited already.
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
  readonly refused = { delay: 0, memory: 0 }
  #memory: MemoryUse
  #isFull = false
  #tickedAt = performance.now()
  /** The processor time before this turn's first request after which the timer was late; undefined without one. */
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
      this.#delayedSince = processorTime()
      setImmediate(() => {
        this.#delayedSince = undefined
      })
    } else if (processorTime() - this.#delayedSince > this.#maxTurn) {
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
