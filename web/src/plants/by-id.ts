import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isRefusal } from '../said.ts'
import type { Filter } from './filter.ts'

const INTEGER = /^\s*([-−]?)0*(\d{1,19})\s*$/
const MOST = 2n ** 63n

/** Returns null if the text is no int64. */
export function idIn(text: string): bigint | null {
  const [, sign, digits] = INTEGER.exec(text) ?? []
  if (digits === undefined) return null
  const id = sign === '' ? BigInt(digits) : -BigInt(digits)
  return id >= -MOST && id < MOST ? id : null
}

/** The id that a search names, as `1234` or `#1234`; null if it names none. */
export const idSought = (q: string): bigint | null => idIn(q.replace(/^\s*#/, ''))

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
