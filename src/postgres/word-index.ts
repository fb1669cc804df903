import { budgetOf } from './pool/budget.ts'
import type { Connection } from './pool/client.ts'
import type { HeldConnections } from './pool/dedicated-client.ts'

/** Plants that are written until their words are sorted into the index. */
const BATCH = 20_000
const PATIENCE = 10 * 60_000

/**
 * Sorts new words into their index beside the creates. PostgreSQL lists them first, which is cheap, and searches look at
 * that list as well; once it is long, whoever adds to it has to sort it in, which held up every 2,000th group for 130 ms.
 */
export class WordIndex {
  readonly #connections: HeldConnections
  #unsorted = 0
  #isSorting = false

  constructor(connections: HeldConnections) {
    this.#connections = connections
  }

  /** Told after every commit that wrote plants. */
  wrote(plants: number): void {
    this.#unsorted += plants
    if (this.#unsorted < BATCH || this.#isSorting) return
    this.#unsorted = 0
    this.#isSorting = true
    this.#connections.during(sort).then(
      () => {
        this.#isSorting = false
      },
      // The list is sorted in some other time, by autovacuum if by nobody else.
      () => {
        this.#isSorting = false
      },
    )
  }
}

async function sort(connection: Connection): Promise<void> {
  await connection.run({ text: `SET statement_timeout = ${PATIENCE}` })
  await connection.run({ text: "SELECT gin_clean_pending_list('plants_by_word')" }, budgetOf(PATIENCE))
}
