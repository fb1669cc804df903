import type { AppError } from '../../errors.ts'
import type { NewPlant } from '../../plant.ts'
import { createResult, decidePut, importResult } from '../../plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../../store.ts'
import { bigintArray, textArray } from '../binary-arrays.ts'
import { WriteConflict } from '../errors.ts'
import type { Budget } from '../pool/budget.ts'
import type { Run } from '../pool/client.ts'
import type { PoolShare } from '../pool/pool-share.ts'
import { selectPlants } from '../read/point-reader.ts'
import { byId, COLUMNS, columnsOf, idsIn, refusalOf } from '../rows.ts'

/** A plant before and after a change; both have the same id. */
export interface Update {
  readonly before: NewPlant
  readonly after: NewPlant
}

export interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

/** Inserts in the order of ids, so that two groups with the same ids can not deadlock. */
const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM unnest(${COLUMNS}) ORDER BY 1
  ON CONFLICT (id) DO NOTHING RETURNING id`
/** The condition repeats the ids for a database that shards the table by them (docs/guides/scale-out.md). */
const UPDATE = `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
  FROM unnest(${COLUMNS}, $6::text[], $7::text[]) AS v (id, name, tag, sort_key, words, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`
const DELETE = `DELETE FROM plants USING unnest($1::bigint[], $2::text[], $3::text[]) AS v (id, name_before, tag_before)
  WHERE plants.id = ANY ($1::bigint[]) AND plants.id = v.id
    AND plants.name = v.name_before AND plants.tag IS NOT DISTINCT FROM v.tag_before
  RETURNING plants.id`

/** Creates and imports plants. Each method resolves after the commit. */
export class PostgresWriter {
  readonly #share: PoolShare
  readonly #bulk: PoolShare

  /** @param bulk the share for long transactions */
  constructor(share: PoolShare, bulk: PoolShare) {
    this.#share = share
    this.#bulk = bulk
  }

  /**
   * Puts all rows with one statement, and reads the plants whose ids exist with a second one. The results are as if the
   * rows came one after the other: the second row of an id finds the first.
   */
  async createPlants(rows: readonly CreateRow[], budget: Budget): Promise<(CreateResult | AppError)[]> {
    const refusals = rows.map(({ plant }) => refusalOf(plant))
    const firsts = new Map<bigint, NewPlant>()
    for (const [i, { plant }] of rows.entries()) {
      if (refusals[i] === undefined && !firsts.has(plant.id)) firsts.set(plant.id, plant)
    }
    const there = await this.#put(firsts, this.#share.within(budget))
    return rows.map(({ plant, mustBeNew }, i) => {
      const refusal = refusals[i]
      if (refusal !== undefined) return refusal
      const outcome = decidePut(mustBeNew ? 'new' : 'add', plant, there.get(plant.id))
      if (outcome === 'created') there.set(plant.id, plant)
      return createResult(outcome, plant.id)
    })
  }

  /**
   * Puts many plants in one transaction, as if they came one after the other. Reads take no row locks, which a sharded
   * table could not give; after a concurrent write the transaction begins again.
   */
  importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    return this.#bulk.transaction('BEGIN', async (run) => {
      const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
      const there = byId(await selectPlants(run, wanted))
      const { results, changed } = imported(plants, mode, there)
      const added: NewPlant[] = []
      const updated: Update[] = []
      for (const after of changed) {
        const before = there.get(after.id)
        if (before === undefined) added.push(after)
        else updated.push({ before, after })
      }
      const done = [...(await insertPlants(run, added)), ...(await updatePlants(run, updated))]
      if (done.length < changed.length) throw new WriteConflict('a concurrent write changed one of the plants')
      return results
    })
  }

  /** Inserts the plants whose ids are free. @returns the plants that have the other ids */
  async #put(plants: ReadonlyMap<bigint, NewPlant>, run: Run): Promise<Map<bigint, NewPlant>> {
    const there = new Map<bigint, NewPlant>()
    for (let rest = [...plants.values()]; rest.length > 0; ) {
      const created = new Set(await insertPlants(run, rest))
      rest = rest.filter(({ id }) => !created.has(id))
      for (const plant of await selectPlants(run, rest)) there.set(plant.id, plant)
      // An id with neither outcome was deleted in between: its plant is inserted again.
      rest = rest.filter(({ id }) => !there.has(id))
    }
    return there
  }
}

/**
 * What an import does where `there` is what is there.
 *
 * @returns one result for each, and the plants that it changes as they are to be
 */
export function imported(
  plants: readonly NewPlant[],
  mode: ImportMode,
  there: ReadonlyMap<bigint, NewPlant>,
): { results: ImportResult[]; changed: NewPlant[] } {
  const changed = new Map<bigint, NewPlant>()
  const results = plants.map((plant) => {
    const refusal = refusalOf(plant)
    if (refusal !== undefined) return refusal
    const outcome = decidePut(mode, plant, changed.get(plant.id) ?? there.get(plant.id))
    if (outcome === 'created' || outcome === 'updated') changed.set(plant.id, plant)
    return importResult(outcome, plant.id)
  })
  return { results, changed: [...changed.values()] }
}

/** @returns the ids of the plants that it inserted; the other ids exist */
export async function insertPlants(run: Run, plants: readonly NewPlant[]): Promise<bigint[]> {
  if (plants.length === 0) return []
  const outcome = await run({ name: 'insert', text: INSERT, values: columnsOf(plants) })
  return outcome.count === plants.length ? plants.map(({ id }) => id) : idsIn(outcome)
}

/** @returns the ids of the plants that were equal to `before`, and now are equal to `after` */
export async function updatePlants(run: Run, updates: readonly Update[]): Promise<bigint[]> {
  if (updates.length === 0) return []
  const inOrder = updates.toSorted((a, b) => (a.after.id < b.after.id ? -1 : 1))
  const values = [...columnsOf(inOrder.map(({ after }) => after)), ...textsOf(inOrder.map(({ before }) => before))]
  return idsIn(await run({ name: 'update', text: UPDATE, values }))
}

/** @returns the ids of the plants that were equal to these, and are now deleted */
export async function deletePlants(run: Run, plants: readonly NewPlant[]): Promise<bigint[]> {
  if (plants.length === 0) return []
  const values = [bigintArray(plants.map(({ id }) => id)), ...textsOf(plants)]
  return idsIn(await run({ name: 'delete', text: DELETE, values }))
}

const textsOf = (plants: readonly NewPlant[]): Buffer[] => [
  textArray(plants.map(({ name }) => name)),
  textArray(plants.map(({ tag }) => tag)),
]
