import type { AppError } from '../errors.ts'
import type { NewPlant } from '../plant.ts'
import { afterChange, createResult, idOf, importResult, type PlantChange } from '../plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../store.ts'
import type { Run } from './connection.ts'
import type { Connections } from './connections.ts'
import { Overtaken } from './errors.ts'
import { selectPlants } from './reader.ts'
import { COLUMNS, columnsOf, refusalOf } from './rows.ts'

export interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

/** In the order of ids, so that two groups with the same ids never wait for each other. */
const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM ${COLUMNS} ORDER BY 1
  ON CONFLICT (id) DO NOTHING RETURNING id`
const UPDATE = `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
  FROM ${COLUMNS} AS v (id, name, tag, sort_key, words) WHERE plants.id = v.id`

/** How long a change is tried again while others change the same plant, in ms. */
const PATIENCE = 10_000

/** Writes of plants. Each resolves after its commit. */
export class PostgresWriter {
  readonly #connections: Connections
  readonly #bulk: Connections

  /** @param bulk for transactions that take long */
  constructor(connections: Connections, bulk: Connections) {
    this.#connections = connections
    this.#bulk = bulk
  }

  /**
   * One statement for all of them, and a second for those whose ids were there. As if they came one after the other: of
   * two with one id the second finds the first.
   */
  async createPlants(rows: readonly CreateRow[]): Promise<(CreateResult | AppError)[]> {
    const refusals = rows.map(({ plant }) => refusalOf(plant))
    const firsts = new Map<bigint, NewPlant>()
    for (const [i, { plant }] of rows.entries()) {
      if (refusals[i] === undefined && !firsts.has(plant.id)) firsts.set(plant.id, plant)
    }
    const there = await this.#put(firsts)
    return rows.map(({ plant, mustBeNew }, i) => {
      const result = refusals[i] ?? createResult(plant, mustBeNew, there.get(plant.id))
      if (result === 'created') there.set(plant.id, plant)
      return result
    })
  }

  /** Puts many plants in one transaction, as if they came one after the other. */
  importPlants(plants: readonly NewPlant[], mode: ImportMode): Promise<ImportResult[]> {
    return this.#bulk.transaction('BEGIN', async (run) => {
      const wanted = plants.filter((plant) => refusalOf(plant) === undefined)
      const there = byId(await selectPlants(run, wanted, mode === 'update' ? 'locked' : 'plants'))
      const { results, changed } = imported(plants, mode, there)
      const added = changed.filter(({ id }) => !there.has(id))
      const updated = changed.filter(({ id }) => there.has(id))
      if ((await insert(run, added)).length < added.length) throw new Overtaken('another has created a plant of these')
      if (updated.length > 0) await run({ name: 'update', text: UPDATE, values: columnsOf(updated) })
      return results
    })
  }

  /**
   * Decides a change by the plant as it is, and writes it if it still is so; no lock is held in between.
   *
   * @returns the plant before and after
   * @throws AppError as afterChange
   */
  async changePlant(change: PlantChange): Promise<{ before: NewPlant | undefined; after: NewPlant | undefined }> {
    const { run } = this.#connections
    const start = performance.now()
    do {
      const [before] = await selectPlants(run, [{ id: idOf(change) }])
      const after = afterChange(change, before)
      if (await swap(run, before, after)) return { before, after }
    } while (performance.now() - start < PATIENCE)
    throw new Overtaken('others went on changing the plant')
  }

  /** Inserts those that are not there. @returns the others as they are */
  async #put(plants: ReadonlyMap<bigint, NewPlant>): Promise<Map<bigint, NewPlant>> {
    const there = new Map<bigint, NewPlant>()
    const { run } = this.#connections
    for (let rest = [...plants.values()]; rest.length > 0; ) {
      const created = new Set(await insert(run, rest))
      rest = rest.filter(({ id }) => !created.has(id))
      for (const plant of await selectPlants(run, rest)) there.set(plant.id, plant)
      // What was there and is no more was deleted in between: it is put again.
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
    const result = refusalOf(plant) ?? importResult(mode, plant, changed.get(plant.id) ?? there.get(plant.id))
    if (result === 'added' || result === 'updated') changed.set(plant.id, plant)
    return result
  })
  return { results, changed: [...changed.values()] }
}

export const byId = (plants: readonly NewPlant[]): Map<bigint, NewPlant> =>
  new Map(plants.map((plant) => [plant.id, plant]))

/** @returns the ids of those that were not there */
async function insert(run: Run, plants: readonly NewPlant[]): Promise<readonly bigint[]> {
  if (plants.length === 0) return []
  const { rows } = await run({ name: 'insert', text: INSERT, values: columnsOf(plants) })
  return rows.length === plants.length ? plants.map(({ id }) => id) : rows.map(([id]) => BigInt(id ?? ''))
}

/** Makes `before` into `after`, unless it is something else by now. @returns whether it did */
async function swap(run: Run, before: NewPlant | undefined, after: NewPlant | undefined): Promise<boolean> {
  if (before === undefined) return after === undefined || (await insert(run, [after])).length === 1
  if (after === undefined) {
    const text = 'DELETE FROM plants WHERE id = $1 AND name = $2 AND tag IS NOT DISTINCT FROM $3'
    return (await run({ name: 'delete', text, values: [before.id, before.name, before.tag ?? null] })).count === 1
  }
  // What was read was committed.
  if (before.name === after.name && before.tag === after.tag) return true
  const text = `${UPDATE} AND plants.name = $6 AND plants.tag IS NOT DISTINCT FROM $7`
  const values = [...columnsOf([after]), before.name, before.tag ?? null]
  return (await run({ name: 'swap', text, values })).count === 1
}
