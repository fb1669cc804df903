import { AppError } from '../../domain/errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'

export interface UnreadLimits {
  /** Milliseconds within which a client must read a part of its answer; 0 for no limit. */
  readonly stallTimeout: number
  /** Bytes per second that a client must read on average; undefined for no minimum. */
  readonly leastSpeed: number | undefined
  /** Bytes of answers that may wait for their clients, in total. */
  readonly unreadLimit: number
}

interface Unread {
  readonly exchange: Exchange
  readonly size: number
  /** Bytes that the operating system had taken from the connection at the last check. */
  taken: number
  /** Milliseconds that the answer may still wait for its client. */
  credit: number
}

/** Milliseconds that an answer may wait for its client even when other answers need its memory. */
const GRACE = 1000

/** Milliseconds between two checks of all answers; fewer when the stall timeout is short. */
const INTERVAL = 1000

/**
 * Watches the answers that clients have not read yet, and cuts off those that wait too long.
 *
 * Each answer has a credit of one stall timeout. The credit falls while the answer waits, and rises by a second for
 * each `leastSpeed` bytes that the client reads. So a client that stops or crawls cannot hold memory forever.
 */
export class UnreadAnswers {
  readonly #limits: UnreadLimits
  readonly #onCut: (exchange: Exchange, reason: AppError) => void
  readonly #answers = new Set<Unread>()
  #bytes = 0
  #cut = 0
  #timer: NodeJS.Timeout | undefined
  #checkedAt = 0

  /** @param onCut called for each answer that was cut off, after its exchange was given up */
  constructor(limits: UnreadLimits, onCut: (exchange: Exchange, reason: AppError) => void) {
    this.#limits = limits
    this.#onCut = onCut
  }

  /** Registers the metrics of unread answers. */
  describe(metrics: Metrics): void {
    metrics.value('plantstore_unread_answer_bytes', () => this.#bytes)
    metrics.value('plantstore_answers_cut_total', () => this.#cut)
    metrics.bound('unreadLimit', this.#limits.unreadLimit, () => this.#bytes)
  }

  /**
   * Makes room for an answer of this size: cuts off answers that lag by more than GRACE, the slowest first.
   *
   * @returns false when that frees too little memory
   */
  makeRoom(size: number): boolean {
    const { stallTimeout, unreadLimit } = this.#limits
    if (this.#bytes + size <= unreadLimit) return true
    for (const answer of [...this.#answers].sort((a, b) => a.credit - b.credit)) {
      if (answer.credit > stallTimeout - GRACE) return false
      this.#cutOff(answer, 'too many answers wait for slow clients, and this client is the slowest')
      if (this.#bytes + size <= unreadLimit) return true
    }
    return false
  }

  /** Watches an answer until it is sent or its client leaves. @param size bytes of memory that the answer takes */
  watch(exchange: Exchange, size: number): void {
    const answer = { exchange, size, taken: takenOf(exchange), credit: this.#limits.stallTimeout }
    this.#answers.add(answer)
    this.#bytes += size
    exchange.response.once('close', () => this.#forget(answer))
    if (this.#timer !== undefined) return
    this.#checkedAt = performance.now()
    this.#timer = setInterval(() => this.#check(), this.#interval).unref()
  }

  get #interval(): number {
    const { stallTimeout } = this.#limits
    return stallTimeout === 0 ? INTERVAL : Math.min(INTERVAL, Math.max(10, stallTimeout / 4))
  }

  #check(): void {
    const now = performance.now()
    // A long turn of the event loop must not count against the clients.
    const elapsed = Math.min(now - this.#checkedAt, 2 * this.#interval)
    this.#checkedAt = now
    const { stallTimeout, leastSpeed } = this.#limits
    for (const answer of this.#answers) {
      const taken = takenOf(answer.exchange)
      const moved = taken - answer.taken
      const earned = leastSpeed === undefined ? (moved > 0 ? stallTimeout : 0) : (moved / leastSpeed) * 1000
      const isWaiting = answer.exchange.response.writableLength > 0
      answer.taken = taken
      answer.credit = Math.min(stallTimeout, answer.credit + earned - (isWaiting ? elapsed : 0))
      if (stallTimeout > 0 && answer.credit <= 0) {
        this.#cutOff(answer, `the client read too little of its answer for ${stallTimeout / 1000} s`)
      }
    }
    this.makeRoom(0)
  }

  #cutOff(answer: Unread, message: string): void {
    const { exchange } = answer
    this.#forget(answer)
    this.#cut++
    const reason = new AppError(40801, message)
    exchange.giveUp(reason)
    this.#onCut(exchange, reason)
  }

  #forget(answer: Unread): void {
    if (!this.#answers.delete(answer)) return
    this.#bytes -= answer.size
    if (this.#answers.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

const takenOf = ({ response: { socket } }: Exchange): number =>
  socket === null ? 0 : socket.bytesWritten - socket.writableLength
