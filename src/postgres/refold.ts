import type { Run } from './pool/client.ts'
import { sessionOf } from './pool/pool-share.ts'
import { plantsAt } from './read/long-reads.ts'
import { MARKER_QUERY } from './search-terms.ts'
import { updatePlants } from './write/update.ts'

/**
 * Folds all plants again that releases before schema 10 have folded by other rules, and writes their words and sort keys.
 * Call it in the transaction of that migration. A plant that another transaction writes meanwhile stays as it is.
 */
export async function refold(run: Run): Promise<void> {
  const isDistributed = await hasShards(run)
  // Sessions read no whole table otherwise (PLANNER_SETTINGS).
  await run({ text: 'SET LOCAL enable_seqscan = on' })
  const text = `DECLARE stale NO SCROLL CURSOR FOR
    SELECT id, name, tag FROM plants WHERE words @@ $1::tsquery OR name ~ $2 OR tag ~ $2`
  await run({ text, values: [MARKER_QUERY, FOLDED_ANEW] })
  for await (const plants of plantsAt(run, 'stale')) {
    const updates = plants.map((plant) => ({ before: plant, after: plant }))
    // Citus finds the shard of a single row only.
    const groups = isDistributed ? updates.map((update) => [update]) : [updates]
    for (const group of groups) await updatePlants(sessionOf(run), group)
  }
  await run({ text: 'CLOSE stale' })
}

/** A regular expression for the invisible characters, and for the blocks of pictographs and flags. */
const FOLDED_ANEW = `[${[
  '\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufff8',
  '\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff',
  '\\u2600-\\u27bf\\U0001f000-\\U0001faff',
].join('')}]`

async function hasShards(run: Run): Promise<boolean> {
  const [row] = (await run({ text: "SELECT to_regclass('pg_catalog.pg_dist_partition')" })).rows
  if (row?.[0] == null) return false
  const { rows } = await run({ text: "SELECT FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass" })
  return rows.length > 0
}
