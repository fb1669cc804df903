import { setTimeout as sleep } from 'node:timers/promises'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from './writer.ts'

/** The pause between two transactions is so many times as long as the first of them, and at least so many milliseconds. */
const PAUSE_SHARE = 4
const LEAST_PAUSE = 20

/** What a service does in its store while others write: in small transactions, with the store free most of the time. */
export class Housekeeping {
  readonly #writer: Remote<SqliteWriter>
  readonly #changesKeep: number
  readonly #onNotice: (text: string) => void
  /** The changes before this position are not needed for the index any more. */
  #durable = 0
  #trimming: Promise<void> | undefined
  #removing: Promise<void> | undefined
  #isClosed = false

  /** @param changesKeep how long changes are kept that the search index does not need, in milliseconds */
  constructor(writer: Remote<SqliteWriter>, changesKeep: number, onNotice: (text: string) => void) {
    this.#writer = writer
    this.#changesKeep = changesKeep
    this.#onNotice = onNotice
  }

  /** Begins to remove what older versions have left. */
  start(): void {
    this.#removing = this.#removeOldIndexes().catch(() => {})
  }

  /** Trims the log of changes, which the search index needs from this position on. */
  trim(durable: number): void {
    this.#durable = durable
    // A fault is told by whoever writes next. What could not be trimmed is trimmed later.
    this.#trimming ??= this.#trim()
      .catch(() => {})
      .finally(() => {
        this.#trimming = undefined
      })
  }

  /** Resolves when nothing is under way; the rest is done after the next start. */
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

  /** @param part returns whether there is more to do */
  async #inParts(part: () => Promise<boolean>): Promise<void> {
    while (!this.#isClosed) {
      const startedAt = performance.now()
      if (!(await part())) return
      await sleep(Math.max(LEAST_PAUSE, PAUSE_SHARE * (performance.now() - startedAt)), undefined, { ref: false })
    }
  }
}
