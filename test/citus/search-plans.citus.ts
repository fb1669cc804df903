import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findOnShards } from '../../src/citus/search.ts'
import { PLANT_ORDERS, type PlantQuery } from '../../src/domain/plant-query.ts'
import { budgetOf, type Run } from '../../src/postgres/pool/client.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { cleanUp } from '../support/clean-up.ts'
import { newDatabase } from '../support/postgres.ts'

const BUDGET = 10_000

test('Citus passes every statement of a search on to the shards as a whole, with the limit', async (t) => {
  const address = readPostgresAddress(await newDatabase(t), {})
  const pool = new Pool({ address, max: 1, timeout: BUDGET, onTrouble: () => {} })
  cleanUp(t, () => pool.close())
  const { run } = new PoolShare(pool, 1)
  let explained = 0
  const explain: Run = async (statement) => {
    const { text } = statement
    const { rows, ...rest } = await run({ ...statement, text: `EXPLAIN ${text}` }, budgetOf(BUDGET))
    const plan = rows.map(([line]) => line).join('\n')
    assert.doesNotMatch(plan, /Distributed Subplan/, text)
    assert.match(plan, /Task Count: 4.*->\s+Task\s.*->\s+Limit/s, text)
    explained++
    // A walk that is full, and has no hit.
    return { ...rest, rows: Array.from({ length: 500 }, () => ['1', 'a', null, 'a', 'f']) }
  }
  for (const order of PLANT_ORDERS)
    for (const filter of [{}, { tags: ['x'] }, { tags: ['x', 'y'] }, { tagPrefix: 'x' }, { untagged: true }])
      for (const words of [[], ['x'], ['x', 'y']])
        for (const after of [undefined, { key: 'x', id: 7n }]) {
          const query: PlantQuery = { tags: [], ...filter, words, order, after }
          await findOnShards(explain, query, 50)
        }
  assert.ok(explained > 120, `${explained}`)
})
