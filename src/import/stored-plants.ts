import { AppError } from '../domain/errors.ts'
import { MIN_ID, type NewPlant } from '../domain/plant.ts'
import { ALL_PLANTS, type Position, positionOf, sortKey } from '../domain/plant-query.ts'
import { lazySignalOf, type Store } from '../domain/store.ts'

/** Yields stored plants, among them all with one of these names. @param names undefined: too many to tell */
export type StoredPlants = (names: ReadonlySet<string> | undefined) => AsyncIterable<readonly NewPlant[]>

/** Names that the index of names is asked for, in a millisecond each. */
export const FEW_NAMES = 50
/** Plants of one page, and those after which it takes less to read all: many may have a name, or begin with one. */
const PAGE = 100
const MAX_LOOKED_UP = 10_000

/**
 * Finds plants by the index of names where they are few, and else reads all plants.
 *
 * @param all yields all plants
 */
export const storedPlants = (store: Store, all: () => AsyncIterable<readonly NewPlant[]>, signal?: AbortSignal) =>
  async function* (names: ReadonlySet<string> | undefined): ReturnType<typeof all> {
    const found = names && (await withNames(store, names, signal))
    if (found === undefined) yield* all()
    else yield found
  } satisfies StoredPlants

/** The plants with one of these names, those of each by id; undefined where they are many, or the index is away. */
async function withNames(
  store: Store,
  names: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<readonly NewPlant[] | undefined> {
  const caller = signal && lazySignalOf(signal)
  const found: NewPlant[] = []
  let read = 0
  try {
    // The positions below are right after a plant with the least id.
    const first = await store.getPlant(MIN_ID, caller)
    if (first !== undefined && names.has(first.name)) found.push(first)
    for (const name of names) {
      const key = sortKey(name)
      for (let after: Position | undefined = { key, id: MIN_ID }; after?.key === key; ) {
        const page = await store.listPlants({ ...ALL_PLANTS, order: 'name', after }, PAGE, caller)
        found.push(...page.filter((plant) => plant.name === name))
        read += page.length
        if (read > MAX_LOOKED_UP) return undefined
        const last = page.length < PAGE ? undefined : page.at(-1)
        after = last && positionOf('name', last)
      }
    }
    return found
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return undefined
    throw error
  }
}
