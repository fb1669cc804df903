import { setTimeout as sleep } from 'node:timers/promises'
import type { Keep } from '../change-log/trim.ts'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from './writer.ts'

/** The pause after a transaction: PAUSE_SHARE times its duration, but at least MIN_PAUSE milliseconds. */
const PAUSE_SHARE = 4
const MIN_PAUSE = 20
/** Milliseconds between two looks for changes that have become too old, while nothing is written. */
const TRIM_INTERVAL = 60_000

/** Trims the log of changes, in small transactions with pauses, so that other writes hardly wait. */
export class Housekeeping {
  readonly #writer: Remote<SqliteWriter>
  readonly #keep: Keep
  /** The position from which on the search index needs the log of changes. */
  #durable = 0
  #timer: NodeJS.Timeout | undefined
  #trimming: Promise<void> | undefined
  #isClosed = false

  /** @param keep the log also keeps what the search index needs */
  constructor(writer: Remote<SqliteWriter>, keep: Keep) {
    this.#writer = writer
    this.#keep = keep
  }

  start(): void {
    this.#timer = setInterval(() => this.trim(this.#durable), TRIM_INTERVAL).unref()
    this.trim(this.#durable)
  }

  /** @param durable the position from which on the search index needs the log */
  trim(durable: number): void {
    this.#durable = durable
    // The next write reports the fault, and the next call retries.
    this.#trimming ??= this.#trim()
      .catch(() => {})
      .finally(() => {
        this.#trimming = undefined
      })
  }

  /** Resolves when no transaction is under way. The next start continues the rest. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#trimming
  }

  async #trim(): Promise<void> {
    while (!this.#isClosed) {
      const startedAt = performance.now()
      if (!(await this.#writer.trimChanges(this.#durable, this.#keep))) return
      await sleep(Math.max(MIN_PAUSE, PAUSE_SHARE * (performance.now() - startedAt)), undefined, { ref: false })
    }
  }
}
