import type { TagCount } from '../domain/store.ts'
import { sqlState } from './errors.ts'
import { budgetOf } from './pool/budget.ts'
import type { Client, Run, Statement } from './pool/client.ts'
import type { DedicatedClients } from './pool/dedicated-clients.ts'
import { storable, TAG_KEY } from './read/search-conditions.ts'

/** Written plants between two runs of `add`. */
const BATCH = 20_000
const STATEMENT_TIMEOUT = 10 * 60_000
const UNDEFINED_TABLE = '42P01'

/**
 * Adds the rows of tag_changes to tag_counts, in the background. Triggers append the changes (sql/postgres/000005.sql).
 * Readers sum both tables, so their counts are always current.
 */
export class TagCounts {
  readonly #clients: DedicatedClients
  #written = 0
  #isAdding = false

  constructor(clients: DedicatedClients) {
    this.#clients = clients
  }

  /** Call it after each commit that wrote plants. */
  wrote(plants: number): void {
    this.#written += plants
    if (this.#written < BATCH || this.#isAdding) return
    this.#written = 0
    this.#isAdding = true
    this.#clients
      .use(add)
      // The next run adds these changes too.
      .catch(() => {})
      .finally(() => {
        this.#isAdding = false
      })
  }
}

async function add(client: Client): Promise<void> {
  const run = (text: string) => client.run({ text }, budgetOf(STATEMENT_TIMEOUT))
  await run(`SET statement_timeout = ${STATEMENT_TIMEOUT}`)
  await run('BEGIN')
  // Two concurrent runs could add one change twice. The lock blocks neither readers nor writers of plants.
  await run('LOCK TABLE tag_counts IN EXCLUSIVE MODE')
  await run(ADD)
  await run('DELETE FROM tag_counts WHERE plants = 0')
  await run('COMMIT')
  await run('VACUUM tag_changes')
}

const ADD = `WITH taken AS (DELETE FROM tag_changes RETURNING tag, plants),
    sums AS (SELECT tag, sum(plants) AS plants FROM taken GROUP BY tag),
    added AS (UPDATE tag_counts SET plants = tag_counts.plants + sums.plants FROM sums
      WHERE left(tag_counts.tag, 128) = left(sums.tag, 128) AND tag_counts.tag = sums.tag RETURNING sums.tag)
  INSERT INTO tag_counts SELECT tag, plants FROM sums
    WHERE plants <> 0 AND NOT EXISTS (SELECT FROM added WHERE added.tag = sums.tag)`

/** See Store.listTags. Where the plants are distributed, each server counts its own plants. */
export async function listTags(
  run: Run,
  after: string | undefined,
  limit: number,
  isDistributed: boolean,
): Promise<TagCount[]> {
  const values = after === undefined ? [limit] : [limit, storable(after)]
  try {
    return await tags(run, { text: isDistributed ? counted(after) : kept(after), values })
  } catch (error) {
    // Another process has distributed the store since the last read of the shard map.
    if (isDistributed || sqlState(error) !== UNDEFINED_TABLE) throw error
    return tags(run, { text: counted(after), values })
  }
}

async function tags(run: Run, statement: Statement): Promise<TagCount[]> {
  const { rows } = await run(statement)
  return rows.map(([tag, plants]) => ({ tag: tag ?? '', plants: Number(plants) }))
}

/** The index holds the first 128 characters of a tag. The second condition distinguishes longer tags. */
const isAfter = (after: string | undefined): string =>
  after === undefined ? 'true' : `${TAG_KEY} >= left($2::text, 128) AND tag > $2`

const counted = (after: string | undefined): string => `SELECT tag, count(*) FROM plants
  WHERE tag IS NOT NULL AND ${isAfter(after)} GROUP BY ${TAG_KEY}, tag ORDER BY ${TAG_KEY}, tag LIMIT $1`

/** A change may remove the last plant of a tag, so the statement reads one more tag for each changed tag. */
const kept = (after: string | undefined): string => `WITH
    changed AS MATERIALIZED (SELECT tag, sum(plants) AS plants FROM tag_changes WHERE ${isAfter(after)} GROUP BY tag),
    counted AS (SELECT tag, plants FROM tag_counts WHERE ${isAfter(after)} ORDER BY ${TAG_KEY}
      FETCH FIRST ($1::bigint + (SELECT count(*) FROM changed)) ROWS WITH TIES)
  SELECT tag, sum(plants) FROM (TABLE counted UNION ALL TABLE changed) AS each
    GROUP BY tag HAVING sum(plants) > 0 ORDER BY tag LIMIT $1`
