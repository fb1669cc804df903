import { Pool } from 'pg'
import { type CreateOptions, type CreateResult, createResult, decidePut, type NewPlant } from '../src/domain/plant.ts'
import { plantWords, sortKey } from '../src/domain/plant-query.ts'
import type { PostgresStore } from '../src/postgres/store.ts'
import type { PostgresAddress } from '../src/settings/postgres-address.ts'

const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id) DO NOTHING`
const SELECT = 'SELECT name, tag FROM plants WHERE id = $1'

/** Creates plants as most programs do: by a prepared INSERT for each, through a pool of ten connections. */
export function singleInserts({ hosts, database, user, password }: PostgresAddress): PostgresStore['createPlant'] {
  const pool = new Pool({ ...hosts[0], database, user, password: password() ?? '', max: 10 })
  pool.on('error', console.error)

  async function create(plant: NewPlant, { mustBeNew }: CreateOptions): Promise<CreateResult> {
    const { id, name, tag } = plant
    const words = plantWords(plant).map((word) => `'${word}'`)
    const values = [id, name, tag, sortKey(name), words.join(' ')]
    const { rowCount } = await pool.query({ name: 'insert', text: INSERT, values })
    if (rowCount === 1) return 'created'
    const { rows } = await pool.query<{ name: string; tag: string | null }>(SELECT, [id])
    const there = rows.map((row) => ({ id, name: row.name, tag: row.tag ?? undefined }))[0]
    const result = createResult(decidePut(mustBeNew ? 'new' : 'add', plant, there), id)
    if (result instanceof Error) throw result
    return result
  }

  return create
}
