import { budgetOf } from './pool/budget.ts'
import type { Client } from './pool/client.ts'
import type { DedicatedClients } from './pool/dedicated-clients.ts'

/** Plants between two sorts. */
const BATCH = 20_000
const STATEMENT_TIMEOUT = 10 * 60_000

/**
 * Moves new words from the pending list of their GIN index into the index itself, beside the creates. PostgreSQL adds
 * to that list first, which is cheap, and searches read it too. A full list is moved by the statement that fills it,
 * which held up every 2,000th group for 130 ms.
 */
export class WordIndex {
  readonly #clients: DedicatedClients
  #unsorted = 0
  #isSorting = false

  constructor(clients: DedicatedClients) {
    this.#clients = clients
  }

  /** Call it after each commit that wrote plants. */
  wrote(plants: number): void {
    this.#unsorted += plants
    if (this.#unsorted < BATCH || this.#isSorting) return
    this.#unsorted = 0
    this.#isSorting = true
    this.#clients.use(sort).then(
      () => {
        this.#isSorting = false
      },
      // The next sort, or autovacuum, does it instead.
      () => {
        this.#isSorting = false
      },
    )
  }
}

async function sort(client: Client): Promise<void> {
  await client.run({ text: `SET statement_timeout = ${STATEMENT_TIMEOUT}` })
  await client.run({ text: "SELECT gin_clean_pending_list('plants_by_word')" }, budgetOf(STATEMENT_TIMEOUT))
}
