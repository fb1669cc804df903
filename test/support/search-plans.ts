import assert from 'node:assert/strict'
import type { PlantFilter, PlantOrder, PlantQuery } from '../../src/domain/plant-query.ts'
import { budgetOf, type Client, type Run } from '../../src/postgres/pool/client.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { exported } from '../../src/postgres/read/long-reads.ts'
import { search } from '../../src/postgres/read/search.ts'
import { type SearchStatistics, StatisticsCache } from '../../src/postgres/read/search-statistics.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { cleanUp, type Scene } from './clean-up.ts'

/** A node of the plan of a statement that has run (https://www.postgresql.org/docs/current/sql-explain.html). */
export interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Subplan Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Heap Fetches'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly Plans?: readonly Plan[]
}

/** The plan and all of its parts. */
export const parts = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(parts)]

/** Adds the plants that a scan has read: one of an index alone reads those that VACUUM has not seen. */
export const readOf = (sum: number, scan: Plan): number =>
  scan['Node Type'] === 'Index Only Scan' ? sum + (scan['Heap Fetches'] ?? 0) : rowsOf(sum, scan)

/** The plants that the scans of some plans have read. */
export const plantsRead = (plans: readonly Plan[]): number =>
  plans
    .flatMap(parts)
    .filter((part) => part['Relation Name'] === 'plants')
    .reduce(readOf, 0)

/** Adds the rows that a node has read. */
export const rowsOf = (sum: number, plan: Plan): number =>
  sum + (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']

function literal(value: unknown): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]::text[]`
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}

/** Explains and analyzes all statements of a work in the session of a pool like the store's. */
async function explained(pool: Pool, work: (run: Run, plain: Run) => Promise<unknown>): Promise<Plan[]> {
  const plans: Plan[] = []
  await new PoolShare(pool, 1).with(async (run) => {
    const explaining: Run = async (statement) => {
      // A prepared statement has its real plan only after it has run under its name.
      const outcome = await run(statement)
      const values = (statement.values ?? []).map(literal).join(', ')
      const execute = `EXECUTE "${statement.name}" (${values})`
      const { rows } = await run({ text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${execute}` })
      plans.push((JSON.parse(rows[0]?.[0] ?? '') as [{ Plan: Plan }])[0].Plan)
      return outcome
    }
    await work(explaining, run)
  })
  return plans
}

/**
 * Explains all statements of a search.
 *
 * @param believed in place of the server's statistics
 */
export const plansOf = (pool: Pool, wanted: PlantQuery, believed?: SearchStatistics): Promise<Plan[]> =>
  explained(pool, async (run, plain) =>
    search(run, wanted, 100, believed ?? (await new StatisticsCache().current(plain))),
  )

/** The pages of the server that a work reads. */
export async function buffersOf(pool: Pool, work: (run: Run, plain: Run) => Promise<unknown>): Promise<number> {
  const plans = await explained(pool, work)
  return plans.reduce((sum, plan) => sum + (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0), 0)
}

/** Explains the cursor of an export, in the session and the transaction of the export. */
export async function exportPlanOf(pool: Pool, filter: PlantFilter, order: PlantOrder): Promise<Plan> {
  const client = await pool.acquire(budgetOf(60_000))
  const plans: Plan[] = []
  const explaining = new Proxy(client, {
    get: (target, name) => {
      const run: Client['run'] = async (statement, budget) => {
        if (statement.text.startsWith('DECLARE ')) {
          const { rows } = await target.run({ ...statement, text: `EXPLAIN (FORMAT JSON) ${statement.text}` }, budget)
          plans.push((JSON.parse(rows[0]?.[0] ?? '') as [{ Plan: Plan }])[0].Plan)
        }
        return target.run(statement, budget)
      }
      return name === 'run' ? run : Reflect.get(target, name, target)
    },
  })
  // The first chunk needs the cursor.
  await exported(explaining, filter, order).next()
  pool.release(client, false)
  return plans[0] ?? assert.fail('an export declares no cursor')
}

/** A pool of one session, which takes plans of the statistics that it finds first. */
export function poolOf(scene: Scene, url: string): Pool {
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 1, timeout: 60_000, onTrouble: () => {} })
  cleanUp(scene, () => pool.close())
  return pool
}

/** The pages of the server that each search reads. */
export async function searchBuffers(
  url: string,
  searches: Record<string, PlantQuery>,
  limit: number,
): Promise<Record<string, number>> {
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 1, timeout: 60_000, onTrouble: () => {} })
  try {
    const buffers: Record<string, number> = {}
    for (const [name, wanted] of Object.entries(searches)) {
      const statistics = new StatisticsCache()
      buffers[name] = await buffersOf(pool, async (run, plain) =>
        search(run, wanted, limit, await statistics.current(plain)),
      )
    }
    return buffers
  } finally {
    await pool.close()
  }
}
