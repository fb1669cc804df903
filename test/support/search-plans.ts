import type { PlantQuery } from '../../src/domain/plant-query.ts'
import type { Run } from '../../src/postgres/pool/client.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { search } from '../../src/postgres/read/search.ts'
import { type SearchStatistics, StatisticsCache } from '../../src/postgres/read/search-statistics.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'

/** A node of the plan of a statement that has run (https://www.postgresql.org/docs/current/sql-explain.html). */
export interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Subplan Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** The plan and all of its parts. */
export const parts = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(parts)]

/** Adds the plants that a node has read. */
export const rowsOf = (sum: number, plan: Plan): number =>
  sum + (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']

function literal(value: unknown): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]::text[]`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/**
 * Explains and analyzes all statements of a search in a session like those of the store.
 *
 * @param believed in place of the server's statistics
 */
export async function plansOf(url: string, wanted: PlantQuery, believed?: SearchStatistics): Promise<Plan[]> {
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 1, timeout: 60_000, onTrouble: () => {} })
  const plans: Plan[] = []
  try {
    await new PoolShare(pool, 1).with(async (run) => {
      const explained: Run = async (statement) => {
        // A prepared statement has its real plan only after it has run under its name.
        const outcome = await run(statement)
        const values = (statement.values ?? []).map(literal).join(', ')
        const { rows } = await run({ text: `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE "${statement.name}" (${values})` })
        plans.push((JSON.parse(rows[0]?.[0] ?? '') as [{ Plan: Plan }])[0].Plan)
        return outcome
      }
      await search(explained, wanted, 100, believed ?? (await new StatisticsCache().current(run)))
    })
  } finally {
    await pool.close()
  }
  return plans
}
