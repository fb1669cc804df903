import { budgetOf } from './pool/budget.ts'
import type { Client } from './pool/client.ts'
import type { DedicatedClients } from './pool/dedicated-clients.ts'

/** UTF-16 units of written text between two cleanups. Each plant counts as this many more. */
const BATCH = 2 ** 20
const EACH = 32
/** Imported plants, and their share of all plants, from which the table is vacuumed: as for autovacuum, but at once. */
const MANY = 10_000
const SHARE = 0.2
const STATEMENT_TIMEOUT = 10 * 60_000

/** Keeps the table of plants in the state in which searches are fast, in the background. */
export class SearchUpkeep {
  readonly #clients: DedicatedClients
  #written = 0
  #isCleaning = false
  #imported = 0
  #isVacuuming = false

  /** @param clients not those of exports, whose place the work must not take */
  constructor(clients: DedicatedClients) {
    this.#clients = clients
  }

  /**
   * Cleans up the pending list of the GIN index plants_by_word
   * (https://www.postgresql.org/docs/current/gin-implementation.html#GIN-FAST-UPDATE). PostgreSQL appends new words to
   * the list, and searches read it. Without this, the statement that fills the list cleans it up, which delayed every
   * 2,000th group by 130 ms. Call it after each commit that wrote plants, with their UTF-16 units.
   */
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

  /** Call it after each commit of an import. */
  imported(plants: number): void {
    this.#imported += plants
  }

  /**
   * Vacuums and analyzes the table if many of its plants are new since the last time: searches have statistics then, and
   * PostgreSQL counts entries of its indexes without reading plants. Autovacuum does so within a minute or two. A role
   * that does not own the table may not (https://www.postgresql.org/docs/current/sql-vacuum.html); it changes nothing.
   *
   * @returns whether the statistics may be new
   */
  async afterImport(): Promise<boolean> {
    const imported = this.#imported
    if (imported < MANY || this.#isVacuuming) return false
    this.#isVacuuming = true
    const isVacuumed = await this.#clients.use((client) => vacuum(client, imported)).catch(() => false)
    this.#isVacuuming = false
    // Without a vacuum, the next import counts these plants too.
    if (isVacuumed) this.#imported -= imported
    return isVacuumed
  }
}

async function cleanPendingList(client: Client): Promise<void> {
  await client.run({ text: `SET statement_timeout = ${STATEMENT_TIMEOUT}` })
  await client.run({ text: "SELECT gin_clean_pending_list('plants_by_word')" }, budgetOf(STATEMENT_TIMEOUT))
}

async function vacuum(client: Client, imported: number): Promise<boolean> {
  const { rows } = await client.run({ text: "SELECT reltuples FROM pg_class WHERE oid = 'plants'::regclass" })
  if (imported < SHARE * Number(rows[0]?.[0])) return false
  await client.run({ text: `SET statement_timeout = ${STATEMENT_TIMEOUT}` })
  await client.run({ text: 'VACUUM (ANALYZE) plants' }, budgetOf(STATEMENT_TIMEOUT))
  return true
}
