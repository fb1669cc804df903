import type { ListedPlant, PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { isTagged } from '../../../../src/domain/plant-query.ts'
import { codeTyped } from '../../codes/label-address.ts'
import { idTyped } from '../../codes/typed-code.ts'
import { isRefusal } from '../../page/said.ts'
import { type Filter, wantedBy } from './filter.ts'

/** The id that a search names, as `1234`, `#1234` or the code of a label; null if it names none. */
export function idSought(q: string): bigint | null {
  const id = idTyped(q)
  if (id !== null) return id
  const code = /http/i.test(q) ? codeTyped(q) : undefined
  return code !== undefined && 'id' in code ? code.id : null
}

/** Reads the plant whose id a search names, if its tag is one that the filter demands: the service finds words only. */
export async function findById(
  client: PlantstoreClient,
  filter: Omit<Filter, 'sort'>,
  signal: AbortSignal,
): Promise<StoredPlant | undefined> {
  const id = idSought(filter.q)
  if (id === null) return undefined
  try {
    const { plant } = await client.getPlant(id, { signal })
    return isTagged(filter, plant.tag) ? plant : undefined
  } catch (error) {
    if (isRefusal(error, 40402)) return undefined
    throw error
  }
}

/** Puts a plant found by its id before those found by their words. */
export const withFirst = (first: StoredPlant | undefined, plants: readonly ListedPlant[]): readonly ListedPlant[] =>
  first === undefined ? plants : [first, ...plants.filter(({ id }) => id !== first.id)]

/** Yields the plants that a filter finds, each once, as the table shows them. Returning early ends the request. */
export async function* plantsOf(
  client: PlantstoreClient,
  filter: Filter,
  signal: AbortSignal,
): AsyncGenerator<StoredPlant, void, undefined> {
  const first = await findById(client, filter, signal)
  if (first !== undefined) yield first
  for await (const plant of client.exportPlants(wantedBy(filter), { signal })) if (plant.id !== first?.id) yield plant
}
