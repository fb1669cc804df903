import type { ImportedPlant, ImportResult } from '../../domain/plant.ts'
import { causeOf } from '../errors.ts'
import type { MakeGroups } from '../groups.ts'
import type { Run, Statement } from '../pool/client.ts'
import { type PlantRow, valuesOf } from '../rows.ts'
import { type Insert, insertColumns, insertGroup } from '../write/write-plants.ts'
import { ShardGroups } from './shard-groups.ts'
import { Shards } from './shards.ts'

/**
 * All that a store does in another way where Citus distributes the plants (docs/decisions/0030-shards.md). A store may
 * be distributed while it is served. Elsewhere, everything is as without this class.
 */
export class Sharding extends Shards {
  readonly makeGroups: MakeGroups = (commit, options) => new ShardGroups(this, commit, options)

  readonly insert: Insert = (run, rows) => (this.map === undefined ? insertColumns : insertValues)(run, rows)

  /**
   * Imports the plants of each shard by themselves, several shards at once, because a transaction over several shards
   * needs a two-phase commit. After an error, some shards may hold their plants.
   */
  async importPlants(
    plants: readonly ImportedPlant[],
    write: (plants: readonly ImportedPlant[]) => Promise<ImportResult[]>,
  ): Promise<ImportResult[]> {
    const { map } = this
    if (map === undefined) return write(plants)
    const parts = Map.groupBy(plants.keys(), (i) => map.shardOf((plants[i] as ImportedPlant).id))
    for (const shard of parts.keys()) {
      const refusal = this.refusalOf(shard)
      if (refusal !== undefined) throw refusal
    }
    const results: ImportResult[] = []
    const all = [...parts].map(async ([shard, indexes]) => {
      try {
        const done = await write(indexes.map((i) => plants[i] as ImportedPlant))
        for (const [at, i] of indexes.entries()) results[i] = done[at] as ImportResult
      } catch (error) {
        this.failed(shard, causeOf(error))
        throw error
      }
    })
    // The caller continues only after the last statement has ended, also when one has failed.
    const failed = (await Promise.allSettled(all)).find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return results
  }
}

/** Maximum number of rows in one statement. */
const MAX_ROWS = 512
/** Numbers of rows that have a statement: few, so that the server keeps the plan of each. */
const SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 96, 128, 192, 256, 384, MAX_ROWS]

/**
 * Inserts rows that should lie on one shard. Citus routes the rows of VALUES to their shard. It would first collect the
 * rows of a SELECT on the coordinator.
 *
 * @returns the ids of the inserted rows
 */
async function insertValues(run: Run, rows: readonly PlantRow[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (let i = 0; i < rows.length; i += MAX_ROWS) {
    const some = rows.slice(i, i + MAX_ROWS)
    ids.push(...(await insertGroup(run, some, statementOf(some))))
  }
  return ids
}

function statementOf(rows: readonly PlantRow[]): Statement {
  const values = rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(valuesOf)
  const size = SIZES.find((each) => each >= rows.length) ?? MAX_ROWS
  // A repeated row conflicts with the row before it, so it inserts nothing.
  const last = values.at(-1) ?? []
  while (values.length < size) values.push(last)
  return { name: `insert-${size}`, text: textFor(size), values: values.flat() }
}

function textFor(size: number): string {
  const rows = Array.from({ length: size }, (_, i) => {
    const [id, name, tag, key, words] = [1, 2, 3, 4, 5].map((column) => `$${5 * i + column}`)
    return `(${id}::bigint, ${name}::text, ${tag}::text, ${key}::text, ${words}::tsvector)`
  })
  return `INSERT INTO plants (id, name, tag, sort_key, words) VALUES ${rows.join(', ')}
    ON CONFLICT (id) DO NOTHING RETURNING id`
}
