import type { NewPlant } from '../../domain/plant.ts'
import { matches, type PlantQuery, positionOf } from '../../domain/plant-query.ts'
import type { Budget } from '../pool/budget.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { search } from './search.ts'
import { PAGE_BYTES } from './search-statement.ts'
import type { SearchStatistics, StatisticsCache } from './search-statistics.ts'

/** See Store.listPlants. */
export async function listPlants(
  share: PoolShare,
  query: PlantQuery,
  limit: number,
  budget: Budget,
  kept: StatisticsCache,
): Promise<NewPlant[]> {
  const find = async (run: Run) => search(run, query, limit, await kept.current(run))
  const rows = await share.with(find, budget)
  const found = rows.filter((plant) => matches(query, plant))
  if (found.length === rows.length || !isFull(rows, limit)) return found
  // The index added plants that do not match. Reads the page again, with plants in their place, from one snapshot.
  const refill = async (run: Run) => fill(run, query, limit, await kept.current(run))
  return share.transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', refill, budget)
}

async function fill(run: Run, query: PlantQuery, limit: number, statistics: SearchStatistics): Promise<NewPlant[]> {
  const found: NewPlant[] = []
  for (let after = query.after; ; ) {
    const page = await search(run, { ...query, after }, limit, statistics)
    found.push(...page.filter((plant) => matches(query, plant)))
    const last = page.at(-1)
    if (last === undefined || isFull(found, limit) || !isFull(page, limit)) return found.slice(0, limit)
    after = positionOf(query.order, last)
  }
}

/** Whether these plants fill a page, after which more may follow. */
function isFull(plants: readonly NewPlant[], limit: number): boolean {
  if (plants.length >= limit) return true
  let bytes = 0
  for (const { name, tag } of plants.slice(0, -1)) bytes += Buffer.byteLength(name) + Buffer.byteLength(tag ?? '')
  return bytes >= PAGE_BYTES
}
