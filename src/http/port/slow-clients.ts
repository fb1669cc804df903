import { Bound } from '../../base/counts.ts'
import type { AppError } from '../../domain/errors.ts'
import { HttpError } from '../answer/refusal.ts'

interface RateLimits {
  /** Milliseconds for which a client may keep the service waiting; 0 for no limit, whatever `leastSpeed` is. */
  readonly stallTimeout: number
  /** Bytes per second, on average. */
  readonly leastSpeed: number
}

interface SlowClientLimits extends RateLimits {
  /** Bytes of answers that may wait for their clients, in total. */
  readonly unreadLimit: number
}

/**
 * Holds one client to a minimum speed. The client begins with a credit of one stall timeout, which is also the maximum.
 * Each wait for the client lowers the credit, and each `leastSpeed` bytes raise it by a second: so a client that stops
 * runs out of it after one stall timeout, and one at half the least speed after two.
 */
export class MinimumRate {
  readonly #limits: RateLimits
  #moved: number
  #left: number

  /** @param moved bytes that the client has sent or read so far */
  constructor(limits: RateLimits, moved = 0) {
    this.#limits = limits
    this.#moved = moved
    this.#left = limits.stallTimeout
  }

  /** The credit in milliseconds. */
  get left(): number {
    return this.#left
  }

  /** Counts a wait for the client in milliseconds, and the bytes that it has sent or read so far. */
  update(waited: number, moved: number): void {
    const { stallTimeout, leastSpeed } = this.#limits
    const earned = ((moved - this.#moved) / leastSpeed) * 1000
    this.#moved = moved
    this.#left = Math.min(stallTimeout, this.#left - waited + earned)
  }
}

/** A body that a client sends, or an answer that it reads. */
export interface Transfer {
  /** Bytes that the client has sent or read so far. */
  readonly moved: () => number
  /** Whether the service waits for the client. */
  readonly isWaiting: () => boolean
  /** Ends the transfer, because its client is too slow. */
  readonly end: (reason: AppError) => void
  /** Bytes of memory that are free once the transfer ends. */
  size: number
  /** What the client does too little of, for the message. */
  readonly verb: 'sent' | 'read'
}

/** Milliseconds that an answer may wait for its client even when other answers need its memory. */
const GRACE = 1000

/** Milliseconds between two looks at all transfers; fewer when the stall timeout is short. */
const INTERVAL = 1000

/** Ends transfers whose clients stop or crawl, so that such clients cannot hold memory and places forever. */
export class SlowClients {
  /** Bytes of unread answers, and the transfers that ended because of their clients. */
  readonly unread: Bound
  readonly #limits: RateLimits
  readonly #transfers = new Map<Transfer, MinimumRate>()
  #timer: NodeJS.Timeout | undefined
  #checkedAt = 0

  constructor(limits: SlowClientLimits) {
    this.#limits = limits
    this.unread = new Bound(limits.unreadLimit)
  }

  /** Watches a transfer. @returns a function that ends the watch */
  watch(transfer: Transfer): () => void {
    this.#transfers.set(transfer, new MinimumRate(this.#limits, transfer.moved()))
    this.unread.used += transfer.size
    if (this.#timer === undefined) {
      this.#checkedAt = performance.now()
      this.#timer = setInterval(() => this.#check(), this.#interval).unref()
    }
    return () => this.#forget(transfer)
  }

  /** Changes how much memory a transfer takes. Slower ones make room for it, as far as they can. */
  resize(transfer: Transfer, size: number): void {
    this.makeRoom(size)
    if (this.#transfers.has(transfer)) this.unread.used += size - transfer.size
    transfer.size = size
  }

  /**
   * Makes room for an answer of this size: ends answers that lag by more than GRACE, the slowest first.
   *
   * @returns false when that frees too little memory
   */
  makeRoom(size: number): boolean {
    if (this.unread.hasRoom(size)) return true
    const holders = [...this.#transfers].filter(([transfer]) => transfer.size > 0)
    for (const [transfer, rate] of holders.sort(([, a], [, b]) => a.left - b.left)) {
      if (rate.left > this.#limits.stallTimeout - GRACE) return false
      this.#end(transfer, 'too many answers wait for slow clients, and this client is the slowest')
      if (this.unread.hasRoom(size)) return true
    }
    return false
  }

  get #interval(): number {
    const { stallTimeout } = this.#limits
    return stallTimeout === 0 ? INTERVAL : Math.min(INTERVAL, Math.max(10, stallTimeout / 4))
  }

  #check(): void {
    const { stallTimeout, leastSpeed } = this.#limits
    const now = performance.now()
    // A long turn of the event loop must not count against the clients.
    const elapsed = Math.min(now - this.#checkedAt, 2 * this.#interval)
    this.#checkedAt = now
    for (const [transfer, rate] of this.#transfers) {
      rate.update(transfer.isWaiting() ? elapsed : 0, transfer.moved())
      if (stallTimeout === 0 || rate.left > 0) continue
      const tooLittle = `too little for ${stallTimeout / 1000} s; the least speed is ${leastSpeed} bytes per second`
      this.#end(transfer, `the client ${transfer.verb} ${tooLittle}`)
    }
    this.makeRoom(0)
  }

  #end(transfer: Transfer, message: string): void {
    this.#forget(transfer)
    this.unread.refused++
    transfer.end(new HttpError(40801, message, { headers: { Connection: 'close' } }))
  }

  #forget(transfer: Transfer): void {
    if (!this.#transfers.delete(transfer)) return
    this.unread.used -= transfer.size
    if (this.#transfers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
