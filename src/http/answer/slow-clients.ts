import { Bound } from '../../base/counts.ts'
import type { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'
import { closing } from '../refusal.ts'

/** No stall timeout (0): no client is too slow, whatever the least speed. */
type SlowClientLimits = Pick<Config, 'stallTimeout' | 'leastSpeed' | 'unreadLimit'>

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

/** The milliseconds that a client may still keep the service waiting, and the bytes that it had moved at the last look. */
interface Credit {
  left: number
  moved: number
}

/**
 * Ends transfers whose clients stop or crawl, so that such clients cannot hold memory and places forever.
 *
 * A transfer begins with a credit of one stall timeout, which is also the maximum. Each wait for the client lowers the
 * credit, and each `leastSpeed` bytes raise it by a second: so a client that stops runs out of it after one stall
 * timeout, and one at half the least speed after two.
 */
export class SlowClients {
  /** Bytes of unread answers, and the transfers that ended because of their clients. */
  readonly unread: Bound
  readonly #limits: SlowClientLimits
  readonly #credits = new Map<Transfer, Credit>()
  readonly #interval: number
  #timer: NodeJS.Timeout | undefined
  #checkedAt = 0

  constructor(limits: SlowClientLimits) {
    const { stallTimeout, unreadLimit } = limits
    this.#limits = limits
    this.#interval = stallTimeout === 0 ? INTERVAL : Math.min(INTERVAL, Math.max(10, stallTimeout / 4))
    this.unread = new Bound(unreadLimit)
  }

  /** Watches a transfer. @returns a function that ends the watch */
  watch(transfer: Transfer): () => void {
    this.#credits.set(transfer, { left: this.#limits.stallTimeout, moved: transfer.moved() })
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
    if (this.#credits.has(transfer)) this.unread.used += size - transfer.size
    transfer.size = size
  }

  /**
   * Makes room for an answer of this size: ends answers that lag by more than GRACE, the slowest first.
   *
   * @returns false when that frees too little memory
   */
  makeRoom(size: number): boolean {
    if (this.unread.hasRoom(size)) return true
    const slow = [...this.#credits].filter(
      ([transfer, { left }]) => transfer.size > 0 && left <= this.#limits.stallTimeout - GRACE,
    )
    for (const [transfer] of slow.sort(([, a], [, b]) => a.left - b.left)) {
      this.#end(transfer, 'too many answers wait for slow clients, and this client is the slowest')
      if (this.unread.hasRoom(size)) return true
    }
    return false
  }

  #check(): void {
    const { stallTimeout, leastSpeed } = this.#limits
    const now = performance.now()
    // A long turn of the event loop must not count against the clients.
    const elapsed = Math.min(now - this.#checkedAt, 2 * this.#interval)
    this.#checkedAt = now
    for (const [transfer, credit] of this.#credits) {
      const moved = transfer.moved()
      const earned = ((moved - credit.moved) / leastSpeed) * 1000
      credit.moved = moved
      credit.left = Math.min(stallTimeout, credit.left + earned - (transfer.isWaiting() ? elapsed : 0))
      if (stallTimeout === 0 || credit.left > 0) continue
      const tooLittle = `too little for ${stallTimeout / 1000} s; the least speed is ${leastSpeed} bytes per second`
      this.#end(transfer, `the client ${transfer.verb} ${tooLittle}`)
    }
    this.makeRoom(0)
  }

  #end(transfer: Transfer, message: string): void {
    this.#forget(transfer)
    this.unread.refused++
    transfer.end(closing(40801, message))
  }

  #forget(transfer: Transfer): void {
    if (!this.#credits.delete(transfer)) return
    this.unread.used -= transfer.size
    if (this.#credits.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
