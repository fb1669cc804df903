import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { StatementCache } from '../statement-cache.ts'
import { IndexView } from './index-view.ts'

/** Maximum number of changes that the index is behind while a command imports beside a service. */
const MAX_LAG = 8000
/** Milliseconds for which an import waits for the index, and between two checks. */
const TIMEOUT = 10_000
const POLL_INTERVAL = 20

/** Measures the lag of an index that another process updates. */
export class IndexLag {
  readonly #store: DatabaseSync
  readonly #changes: ChangeReader
  readonly #identity: Uint8Array
  readonly #view: IndexView

  constructor(storePath: string) {
    this.#store = openReader(storePath)
    this.#changes = new ChangeReader(new StatementCache(this.#store))
    this.#identity = this.#changes.identity()
    this.#view = new IndexView(storePath)
  }

  /**
   * Resolves when the index is at most MAX_LAG changes behind, missing or being built, and at the latest after TIMEOUT.
   */
  async caughtUp(): Promise<void> {
    const deadline = performance.now() + TIMEOUT
    while (this.#behind() > MAX_LAG && performance.now() < deadline) await sleep(POLL_INTERVAL)
  }

  close(): void {
    this.#view.close()
    this.#store.close()
  }

  #behind(): number {
    const index = this.#view.begin(this.#identity)
    const behind = index === undefined || index.isScanning ? 0 : this.#changes.head() - index.position
    this.#view.end()
    return behind
  }
}
