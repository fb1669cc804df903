import type { AppError } from '../../domain/errors.ts'
import type { NewPlant } from '../../domain/plant.ts'
import { createResult, decidePut } from '../../domain/plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../../domain/store.ts'
import { WriteConflict } from '../errors.ts'
import type { Budget } from '../pool/budget.ts'
import { type PoolShare, sessionOf } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, refusalOf } from '../rows.ts'
import type { Shards } from '../sharding/shards.ts'
import { decideImport } from './decide-import.ts'
import { insertPlants, putPlants } from './insert.ts'
import { importByShard } from './shard-import.ts'
import { type Update, updatePlants } from './update.ts'

export interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

/** Creates and imports plants. Each method resolves after the commit. */
export class PostgresWriter {
  readonly #share: PoolShare
  readonly #longWrites: PoolShare
  readonly #shards: Shards

  /** @param longWrites the share for long transactions */
  constructor(share: PoolShare, longWrites: PoolShare, shards: Shards) {
    this.#share = share
    this.#longWrites = longWrites
    this.#shards = shards
  }

  /**
   * Inserts all rows with one statement, and reads the plants of existing ids with a second one. Decides the rows in
   * their order: the second row of an id finds the plant of the first.
   */
  async createPlants(rows: readonly CreateRow[], budget: Budget): Promise<(CreateResult | AppError)[]> {
    const refusals = rows.map(({ plant }) => refusalOf(plant))
    const firsts = new Map<bigint, NewPlant>()
    for (const [i, { plant }] of rows.entries()) {
      if (refusals[i] === undefined && !firsts.has(plant.id)) firsts.set(plant.id, plant)
    }
    const present = await putPlants(this.#share.session(budget), [...firsts.values()], this.#shards.map !== undefined)
    return rows.map(({ plant, mustBeNew }, i) => {
      const refusal = refusals[i]
      if (refusal !== undefined) return refusal
      const outcome = decidePut(mustBeNew ? 'new' : 'add', plant, present.get(plant.id))
      if (outcome === 'created') present.set(plant.id, plant)
      return createResult(outcome, plant.id)
    })
  }

  /**
   * Imports plants in one transaction, and decides them in their order. The reads lock no rows: after a concurrent
   * write of the same plants, the transaction starts again. Where the plants are distributed, `importByShard` imports
   * them.
   */
  importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    if (this.#shards.map !== undefined) return importByShard(this.#longWrites, this.#shards, plants, mode)
    return this.#longWrites.transaction('BEGIN', async (run) => {
      const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
      const present = byId(await selectPlants(run, wanted))
      const { results, changed } = decideImport(plants, mode, present)
      const added: NewPlant[] = []
      const updated: Update[] = []
      for (const after of changed) {
        const before = present.get(after.id)
        if (before === undefined) added.push(after)
        else updated.push({ before, after })
      }
      const session = sessionOf(run)
      const done = [...(await insertPlants(session, added, false)), ...(await updatePlants(session, updated))]
      if (done.length < changed.length) throw new WriteConflict('a concurrent write changed one of the plants')
      return results
    })
  }
}
