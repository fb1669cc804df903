import type { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { ChangeReader } from '../change-log/change-reader.ts'
import { openReader } from '../connection.ts'
import { StatementCache } from '../statement-cache.ts'
import { IndexView } from './index-view.ts'

/** Changes that the index may be behind while a command imports beside a service. */
const NEAR = 8000
/** Milliseconds that an import waits for the index, and between its checks. */
const TIMEOUT = 10_000
const NAP = 20

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

  /** Resolves when the index is at most NEAR changes behind, or is missing or being built. */
  async near(): Promise<void> {
    const deadline = performance.now() + TIMEOUT
    while (this.#behind() > NEAR && performance.now() < deadline) await sleep(NAP)
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
