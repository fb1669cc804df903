import { setTimeout as sleep } from 'node:timers/promises'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from './writer.ts'

/** The pause after a transaction: PAUSE_SHARE times its duration, but at least MIN_PAUSE milliseconds. */
const PAUSE_SHARE = 4
const MIN_PAUSE = 20

/**
 * Trims the log of changes and removes old indexes. It takes small transactions with pauses, so other writes hardly
 * wait.
 */
export class Housekeeping {
  readonly #writer: Remote<SqliteWriter>
  readonly #changesKeep: number
  readonly #onNotice: (text: string) => void
  /** The position from which on the search index needs the log of changes. */
  #durable = 0
  #trimming: Promise<void> | undefined
  #removing: Promise<void> | undefined
  #isClosed = false

  /** @param changesKeep milliseconds for which the log keeps changes that the search index no longer needs */
  constructor(writer: Remote<SqliteWriter>, changesKeep: number, onNotice: (text: string) => void) {
    this.#writer = writer
    this.#changesKeep = changesKeep
    this.#onNotice = onNotice
  }

  /** Starts to remove the indexes that older versions kept in the store. */
  start(): void {
    this.#removing = this.#removeOldIndexes().catch(() => {})
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
    await Promise.all([this.#trimming, this.#removing])
  }

  async #trim(): Promise<void> {
    await this.#inParts(() => this.#writer.trimChanges(this.#durable, Date.now() - this.#changesKeep))
  }

  async #removeOldIndexes(): Promise<void> {
    let parts = 0
    await this.#inParts(() => {
      if (++parts === 2) this.#onNotice('removing the indexes of an older version from the store')
      return this.#writer.removeOldIndexes()
    })
    if (parts > 1 && !this.#isClosed) this.#onNotice('removed the indexes of an older version from the store')
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
