import { setTimeout as sleep } from 'node:timers/promises'
import type { Remote } from '../worker/protocol.ts'
import type { SqliteWriter } from './writer.ts'

/** After each transaction a pause of PAUSE_SHARE times its duration, and at least MIN_PAUSE milliseconds. */
const PAUSE_SHARE = 4
const MIN_PAUSE = 20

/** Cleans up in small transactions with pauses, so that other writes hardly wait. */
export class Housekeeping {
  readonly #writer: Remote<SqliteWriter>
  readonly #changesKeep: number
  readonly #onNotice: (text: string) => void
  /** The search index no longer needs changes before this position. */
  #durable = 0
  #trimming: Promise<void> | undefined
  #removing: Promise<void> | undefined
  #isClosed = false

  /** @param changesKeep milliseconds that the log keeps changes which the search index no longer needs */
  constructor(writer: Remote<SqliteWriter>, changesKeep: number, onNotice: (text: string) => void) {
    this.#writer = writer
    this.#changesKeep = changesKeep
    this.#onNotice = onNotice
  }

  /** Begins to remove the indexes that older versions kept in the store. */
  start(): void {
    this.#removing = this.#removeOldIndexes().catch(() => {})
  }

  /** Trims the log of changes, which the search index needs from this position on. */
  trim(durable: number): void {
    this.#durable = durable
    // The next write reports a fault. The next call trims what this one could not.
    this.#trimming ??= this.#trim()
      .catch(() => {})
      .finally(() => {
        this.#trimming = undefined
      })
  }

  /** Resolves when no transaction is under way. The rest follows after the next start. */
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

  /** @param part returns whether more remains to be done */
  async #inParts(part: () => Promise<boolean>): Promise<void> {
    while (!this.#isClosed) {
      const startedAt = performance.now()
      if (!(await part())) return
      await sleep(Math.max(MIN_PAUSE, PAUSE_SHARE * (performance.now() - startedAt)), undefined, { ref: false })
    }
  }
}
