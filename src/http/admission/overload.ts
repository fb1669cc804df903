import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { AppError } from '../../domain/errors.ts'
import type { Metrics } from '../metrics/metrics.ts'

export interface OverloadLimits {
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
 * the whole process, delays the timer by more than the limit. To tell these apart, `admit` then measures the turn from
 * its first request.
 */
export class Overload {
  readonly #maxTurn: number
  readonly #maxMemory: number
  readonly #readMemory: () => MemoryUse
  readonly #timer: NodeJS.Timeout
  readonly #refused = { delay: 0, memory: 0 }
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

  /** Registers the metrics of refusals and of memory. */
  describe(metrics: Metrics): void {
    metrics.series('plantstore_shed_total', () =>
      Object.entries(this.#refused).map(([reason, count]) => [{ reason }, count] as const),
    )
    const heapLimit = HEAP_SHARE * this.#memory.maxHeap
    metrics.bound('maxMemory', this.#maxMemory, () => this.#memory.heap + this.#memory.external)
    metrics.bound('heap', heapLimit, () => this.#memory.heap)
  }

  /**
   * @param now `performance.now()` when the request began
   * @throws AppError 50302 when the turn takes too long, or memory is short
   */
  admit(now: number): void {
    if (this.#isFull) {
      this.#refused.memory++
      throw new AppError(50302, 'the service is short of memory; nothing was done, retry later')
    }
    if (now - this.#tickedAt <= this.#maxTurn) return
    if (this.#delayedSince === undefined) {
      this.#delayedSince = now
      setImmediate(() => {
        this.#delayedSince = undefined
      })
    } else if (now - this.#delayedSince > this.#maxTurn) {
      this.#refused.delay++
      throw new AppError(50302, 'too many requests came at once; nothing was done, retry later')
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    this.#tickedAt = performance.now()
    this.#memory = this.#readMemory()
    const { heap, maxHeap, external } = this.#memory
    this.#isFull = heap > HEAP_SHARE * maxHeap || heap + external > this.#maxMemory
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
