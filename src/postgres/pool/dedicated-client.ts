import { shuttingDown } from '../errors.ts'
import type { Connection } from './client.ts'
import type { Connections } from './pool-share.ts'

/** Connections that somebody has for himself, perhaps for long. Each is ended after its use, with whatever it has open. */
export class HeldConnections {
  readonly #connections: Connections
  readonly #held = new Set<Connection>()
  #isEnded = false

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /**
   * @param signal ends the waiting for one, by throwing its reason
   * @throws AppError 50303 once all were ended
   */
  async hold(signal?: AbortSignal): Promise<Connection> {
    const connection = await this.#connections.take(this.#connections.budget(signal))
    this.#held.add(connection)
    if (!this.#isEnded) return connection
    this.letGo(connection)
    throw shuttingDown()
  }

  /** Calling it again does nothing. */
  letGo(connection: Connection): void {
    if (this.#held.delete(connection)) this.#connections.discard(connection)
  }

  /** Holds one for as long as the work takes. */
  async during<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.hold()
    try {
      return await work(connection)
    } finally {
      this.letGo(connection)
    }
  }

  /** Ends them with whatever they are doing, and lets nobody hold one any more. */
  end(): void {
    this.#isEnded = true
    for (const connection of this.#held) {
      connection.end()
      this.letGo(connection)
    }
  }
}
