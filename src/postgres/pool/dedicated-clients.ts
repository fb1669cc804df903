import { shuttingDown } from '../errors.ts'
import type { Client } from './client.ts'
import type { PoolShare } from './pool-share.ts'

/** Clients for long work, such as exports. Each serves one caller, and its connection ends after the work. */
export class DedicatedClients {
  readonly #share: PoolShare
  readonly #clients = new Set<Client>()
  #isEnded = false

  constructor(share: PoolShare) {
    this.#share = share
  }

  /**
   * @param signal ends the wait, which then rejects with the signal's reason
   * @throws AppError 50303 after `end`
   */
  async acquire(signal?: AbortSignal): Promise<Client> {
    const client = await this.#share.acquire(this.#share.budget(signal))
    this.#clients.add(client)
    if (!this.#isEnded) return client
    this.release(client)
    throw shuttingDown()
  }

  /** Ends a client. Calling it again does nothing. */
  release(client: Client): void {
    if (this.#clients.delete(client)) this.#share.discard(client)
  }

  /** Runs work on a client of its own. */
  async use<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.acquire()
    try {
      return await work(client)
    } finally {
      this.release(client)
    }
  }

  /** Ends all clients at once, even during a statement, and refuses later calls of `acquire`. */
  end(): void {
    this.#isEnded = true
    for (const client of this.#clients) {
      client.end()
      this.release(client)
    }
  }
}
