import { budgetOf } from './pool/budget.ts'
import type { Client } from './pool/client.ts'
import type { DedicatedClients } from './pool/dedicated-clients.ts'

/** UTF-16 units of written text between two cleanups. Each plant counts as this many more. */
const BATCH = 2 ** 20
const EACH = 32
const STATEMENT_TIMEOUT = 10 * 60_000

/**
 * Cleans up the pending list of the GIN index plants_by_word in the background
 * (https://www.postgresql.org/docs/current/gin-implementation.html#GIN-FAST-UPDATE). PostgreSQL appends new words to
 * the list, and searches read it. Without this, the statement that fills the list cleans it up, which delayed every
 * 2,000th group by 130 ms.
 */
export class WordIndex {
  readonly #clients: DedicatedClients
  #written = 0
  #isCleaning = false

  constructor(clients: DedicatedClients) {
    this.#clients = clients
  }

  /** Call it after each commit that wrote plants, with their UTF-16 units. */
  wrote(plants: number, text: number): void {
    this.#written += plants * EACH + text
    if (this.#written < BATCH || this.#isCleaning) return
    this.#written = 0
    this.#isCleaning = true
    this.#clients
      .use(cleanPendingList)
      // The next cleanup, or autovacuum, moves these words too.
      .catch(() => {})
      .finally(() => {
        this.#isCleaning = false
      })
  }
}

async function cleanPendingList(client: Client): Promise<void> {
  await client.run({ text: `SET statement_timeout = ${STATEMENT_TIMEOUT}` })
  await client.run({ text: "SELECT gin_clean_pending_list('plants_by_word')" }, budgetOf(STATEMENT_TIMEOUT))
}
