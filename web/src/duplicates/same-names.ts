import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { fold } from '../../../src/domain/plant-query.ts'

/** Plants with one name, apart from case and accents; those with one tag stand together. */
export interface SameName {
  /** The name without case and accents. */
  readonly key: string
  readonly name: string
  readonly plants: readonly StoredPlant[]
}

export interface SameNames {
  /** Two plants of the name also have the same tag: most likely one plant, entered twice. */
  readonly twins: readonly SameName[]
  readonly others: readonly SameName[]
  /** Whether there are more plants than the page compares. */
  readonly isCut: boolean
}

/** The most plants that the page compares, because it keeps all of them. */
export const MOST_COMPARED = 50_000

/** Reads the plants in the order of names, which brings equal names together. @param onRead called with their number */
export async function readSameNames(
  client: PlantstoreClient,
  onRead: (count: number) => void,
  signal: AbortSignal,
): Promise<SameNames> {
  const twins: SameName[] = []
  const others: SameName[] = []
  let [count, compared] = [0, 0]
  let key: string | undefined
  let plants: StoredPlant[] = []
  const end = () => {
    const [first] = plants
    if (key === undefined || first === undefined || plants.length < 2) return
    compared += plants.length
    const places = new Set(plants.map(placeOf))
    const group = { key, name: first.name, plants: plants.toSorted(byPlace) }
    if (places.size < plants.length) twins.push(group)
    else others.push(group)
  }
  for await (const plant of client.exportPlants({ sort: 'name' }, { signal })) {
    count += 1
    if (count % 1000 === 0) onRead(count)
    const folded = fold(plant.name)
    if (folded !== key) {
      end()
      key = folded
      plants = []
    }
    if (compared + plants.length >= MOST_COMPARED) return { twins, others, isCut: true }
    plants.push(plant)
  }
  end()
  return { twins, others, isCut: false }
}

export const hasSameTag = (one: StoredPlant, other: StoredPlant): boolean => one.tag === other.tag

/** A text that differs for each tag, also for none and the empty one. */
const placeOf = ({ tag }: StoredPlant): string => (tag === undefined ? '' : `.${tag}`)

const byPlace = (a: StoredPlant, b: StoredPlant): number =>
  placeOf(a) < placeOf(b) ? -1 : placeOf(a) > placeOf(b) ? 1 : 0
