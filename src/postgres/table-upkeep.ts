import { budgetOf, type Client } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

/** UTF-16 units of written text between two cleanups. Each plant counts as this many more. */
const TEXT_BATCH = 2 ** 20
const EACH = 32
/** Written plants between two additions of counts of tags. */
const PLANT_BATCH = 20_000
/** Imported plants, and their share of all plants, from which the table is vacuumed: as for autovacuum, but at once. */
const MANY = 10_000
const SHARE = 0.2
const TIMEOUT = 10 * 60_000

/** Keeps the tables in the state in which searches and counts of tags are fast, in the background. */
export class TableUpkeep {
  readonly #share: PoolShare
  readonly #cleanUp: (text: number) => void
  readonly #addCounts: (plants: number) => void
  #imported = 0
  #isVacuuming = false

  /**
   * @param share for work on the table of plants: not that of exports, whose place it must not take
   * @param long for the additions
   */
  constructor(share: PoolShare, long: PoolShare) {
    this.#share = share
    this.#cleanUp = background(share, TEXT_BATCH, cleanPendingList)
    this.#addCounts = background(long, PLANT_BATCH, addCounts)
  }

  /** Call it after each commit that wrote plants, with their UTF-16 units. */
  wrote(plants: number, text: number): void {
    this.#cleanUp(plants * EACH + text)
    this.#addCounts(plants)
  }

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
    const isVacuumed = await this.#share.alone((client) => vacuum(client, imported)).catch(() => false)
    this.#isVacuuming = false
    // Without a vacuum, the next import counts these plants too.
    if (isVacuumed) this.#imported -= imported
    return isVacuumed
  }
}

/**
 * Returns a function that counts, and runs work once it has counted enough, one run at a time. What a run that fails has
 * left, the next one does.
 */
function background(share: PoolShare, batch: number, work: (client: Client) => Promise<void>) {
  let counted = 0
  let isRunning = false
  return (amount: number): void => {
    counted += amount
    if (counted < batch || isRunning) return
    counted = 0
    isRunning = true
    share
      .alone(work)
      .catch(() => {})
      .finally(() => {
        isRunning = false
      })
  }
}

async function runFor(client: Client, ...texts: readonly string[]): Promise<void> {
  await client.run({ text: `SET statement_timeout = ${TIMEOUT}` })
  for (const text of texts) await client.run({ text }, budgetOf(TIMEOUT))
}

/**
 * Cleans up the pending list of the GIN index plants_by_word
 * (https://www.postgresql.org/docs/current/gin-implementation.html#GIN-FAST-UPDATE). PostgreSQL appends new words to the
 * list, and searches read it. Without this, the statement that fills the list cleans it up, which delayed every 2,000th
 * group by 130 ms.
 */
const cleanPendingList = (client: Client): Promise<void> =>
  runFor(client, "SELECT gin_clean_pending_list('plants_by_word')")

async function vacuum(client: Client, imported: number): Promise<boolean> {
  const { rows } = await client.run({ text: "SELECT reltuples FROM pg_class WHERE oid = 'plants'::regclass" })
  if (imported < SHARE * Number(rows[0]?.[0])) return false
  await runFor(client, 'VACUUM (ANALYZE) plants')
  return true
}

/**
 * Adds the rows of tag_changes to tag_counts. Triggers append the changes (sql/postgres/000001.sql). Readers sum both
 * tables, so their counts are always current.
 */
const addCounts = (client: Client): Promise<void> =>
  runFor(
    client,
    'BEGIN',
    // Two concurrent runs could add one change twice. The lock blocks neither readers nor writers of plants.
    'LOCK TABLE tag_counts IN EXCLUSIVE MODE',
    ADD,
    'DELETE FROM tag_counts WHERE plants = 0',
    'COMMIT',
    'VACUUM tag_changes',
  )

/** Only an equality joins many tags fast, and NULL equals nothing, so the plants without a tag are added on their own. */
const ADD = `WITH taken AS (DELETE FROM tag_changes RETURNING tag, plants),
    sums AS (SELECT tag, sum(plants) AS plants FROM taken GROUP BY tag),
    added AS (UPDATE tag_counts SET plants = tag_counts.plants + sums.plants FROM sums
      WHERE tag_counts.tag = sums.tag RETURNING sums.tag),
    untagged AS (UPDATE tag_counts SET plants = tag_counts.plants + sums.plants FROM sums
      WHERE tag_counts.tag IS NULL AND sums.tag IS NULL RETURNING sums.plants)
  INSERT INTO tag_counts SELECT tag, plants FROM sums
    WHERE plants <> 0 AND NOT EXISTS (SELECT FROM added WHERE added.tag = sums.tag)
      AND (tag IS NOT NULL OR NOT EXISTS (TABLE untagged))`
