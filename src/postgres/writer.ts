import type { AppError } from '../errors.ts'
import type { NewPlant } from '../plant.ts'
import { createResult, importResult } from '../plant-change.ts'
import type { CreateResult, ImportMode, ImportResult } from '../store.ts'
import type { Run } from './connection.ts'
import type { Connections } from './connections.ts'
import { Overtaken } from './errors.ts'
import { selectPlants } from './reader.ts'
import { COLUMNS, columnsOf, idsIn, refusalOf } from './rows.ts'

export interface CreateRow {
  readonly plant: NewPlant
  readonly mustBeNew: boolean
}

/** In the order of ids, so that two groups with the same ids never wait for each other. */
const INSERT = `INSERT INTO plants (id, name, tag, sort_key, words) SELECT * FROM unnest(${COLUMNS}) ORDER BY 1
  ON CONFLICT (id) DO NOTHING RETURNING id`
const UPDATE = `UPDATE plants SET name = v.name, tag = v.tag, sort_key = v.sort_key, words = v.words
  FROM unnest(${COLUMNS}) AS v (id, name, tag, sort_key, words) WHERE plants.id = v.id`

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
      if ((await insertPlants(run, added)).length < added.length)
        throw new Overtaken('another has created a plant of these')
      if (updated.length > 0) await run({ name: 'update', text: UPDATE, values: columnsOf(updated) })
      return results
    })
  }

  /** Inserts those that are not there. @returns the others as they are */
  async #put(plants: ReadonlyMap<bigint, NewPlant>): Promise<Map<bigint, NewPlant>> {
    const there = new Map<bigint, NewPlant>()
    const { run } = this.#connections
    for (let rest = [...plants.values()]; rest.length > 0; ) {
      const created = new Set(await insertPlants(run, rest))
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
export async function insertPlants(run: Run, plants: readonly NewPlant[]): Promise<bigint[]> {
  if (plants.length === 0) return []
  const outcome = await run({ name: 'insert', text: INSERT, values: columnsOf(plants) })
  return outcome.count === plants.length ? plants.map(({ id }) => id) : idsIn(outcome)
}
