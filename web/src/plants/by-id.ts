import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isRefusal } from '../said.ts'
import { codeTyped } from '../scan/label-address.ts'
import type { Filter } from './filter.ts'
import { idTyped } from './id.ts'

/** The id that a search names, as `1234`, `#1234` or the code of a label; null if it names none. */
export function idSought(q: string): bigint | null {
  const id = idTyped(q)
  if (id !== null) return id
  const code = /http/i.test(q) ? codeTyped(q) : undefined
  return code !== undefined && 'id' in code ? code.id : null
}

/** Reads the plant whose id a search names, if it has one of the tags: the service finds words only. */
export async function findById(
  client: PlantstoreClient,
  { q, tags }: Pick<Filter, 'q' | 'tags'>,
  signal: AbortSignal,
): Promise<StoredPlant | undefined> {
  const id = idSought(q)
  if (id === null) return undefined
  try {
    const { plant } = await client.getPlant(id, { signal })
    return tags.length === 0 || (plant.tag !== undefined && tags.includes(plant.tag)) ? plant : undefined
  } catch (error) {
    if (isRefusal(error, 40402)) return undefined
    throw error
  }
}

/** Puts a plant found by its id before those found by their words. */
export const withFirst = (first: StoredPlant | undefined, plants: readonly StoredPlant[]): readonly StoredPlant[] =>
  first === undefined ? plants : [first, ...plants.filter(({ id }) => id !== first.id)]
