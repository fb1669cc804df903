import { setTimeout as sleep } from 'node:timers/promises'
import type { Keep } from '../change-log/change-writer.ts'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from './writer.ts'

/** The pause after a transaction: PAUSE_SHARE times its duration, but at least MIN_PAUSE milliseconds. */
const PAUSE_SHARE = 4
const MIN_PAUSE = 20
/** Milliseconds between two looks for changes that have become too old, while nothing is written. */
const TRIM_INTERVAL = 60_000

/** How long, and how large, the log of changes is kept. */
export interface ChangesKeep {
  /** Milliseconds. */
  readonly time: number
  readonly bytes: number
}

/**
 * Trims the log of changes, and moves that of an older version. It takes small transactions with pauses, so other writes
 * hardly wait.
 */
export class Housekeeping {
  readonly #writer: Remote<SqliteWriter>
  readonly #changesKeep: ChangesKeep
  /** The position from which on the search index needs the log of changes. */
  #durable = 0
  #timer: NodeJS.Timeout | undefined
  #trimming: Promise<void> | undefined
  #moving: Promise<void> | undefined
  #isClosed = false

  /** @param changesKeep the log also keeps what the search index needs */
  constructor(writer: Remote<SqliteWriter>, changesKeep: ChangesKeep) {
    this.#writer = writer
    this.#changesKeep = changesKeep
  }

  /** Starts to move the log of an older version, and to trim the log of changes by its time. */
  start(): void {
    this.#timer = setInterval(() => this.trim(this.#durable), TRIM_INTERVAL).unref()
    this.#moving = this.#moveOldChanges().catch(() => {})
  }

  /** Trims the log of changes. @param durable the position from which on the search index needs the log */
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
    await Promise.all([this.#trimming, this.#moving])
  }

  async #trim(): Promise<void> {
    await this.#inParts(() => this.#writer.trimChanges(this.#durable, this.#keep))
  }

  async #moveOldChanges(): Promise<void> {
    await this.#inParts(() => this.#writer.moveOldChanges(this.#keep))
  }

  get #keep(): Keep {
    const { time, bytes } = this.#changesKeep
    return { since: Date.now() - time, bytes }
  }

  /** @param part runs one transaction, and returns whether more work remains */
  async #inParts(part: () => Promise<boolean>): Promise<void> {
    while (!this.#isClosed) {
      const startedAt = performance.now()
      if (!(await part())) return
      await sleep(Math.max(MIN_PAUSE, PAUSE_SHARE * (performance.now() - startedAt)), undefined, { ref: false })
    }
  }
}
