import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { StoredPlant } from '../../../client/src/index.ts'
import { isText, itemsIn, recordIn } from '../page/json.ts'
import type { Filter } from '../plants/list/filter.ts'

export type Wanted = Omit<Filter, 'sort'>

/** Plants that the set of a stocktake may have. The device keeps their ids, at most 16 characters each. */
export const MOST_PLANTS = 100_000
/** Found plants that are not of the set. More of them mean that the set is not the one that the person counts. */
export const MOST_EXTRA = 1000
/** Tags set during the stocktake that are kept, so that a reload finds the plants quickly. */
const MOST_TAGS = 20

/** Where the person has found the plant of a label: in the set, there before, beside the set, or beside a full list. */
export type Finding = 'there' | 'again' | 'extra' | 'extra-again' | 'full'

/** What is kept of a stocktake, as texts. */
export interface StocktakeText {
  readonly set: string
  readonly found: string
}

/** A count of plants: those of a set when it began, those of them that were found, and found ones that are not of it. */
export class Stocktake {
  readonly wanted: Wanted
  /** Milliseconds since 1970. */
  readonly begun: number
  /** The plants of the set, in ascending order. */
  readonly ids: BigInt64Array
  /** 1 for each plant of the set that was found. */
  readonly #there: Uint8Array
  /** The last one found is the first one. */
  #extra: readonly bigint[]
  #tags: readonly string[]
  readonly #version = signal(0)
  /** The plants as the page has read them last; null: none has the id. The device does not keep them. */
  readonly #plants = new Map<bigint, StoredPlant | null>()
  /** Those of them that only this device has seen before. */
  readonly #seen = new Set<bigint>()
  #since = Number.POSITIVE_INFINITY
  readonly #known = signal(0)

  readonly thereCount: ReadonlySignal<number>
  readonly extra: ReadonlySignal<readonly bigint[]>

  constructor(wanted: Wanted, ids: Iterable<bigint>, begun: number) {
    this.wanted = wanted
    this.begun = begun
    this.ids = BigInt64Array.from(ids).sort()
    this.#there = new Uint8Array(this.ids.length)
    this.#extra = []
    this.#tags = []
    this.thereCount = computed(() => (this.#version.value >= 0 ? this.#there.reduce((sum, each) => sum + each, 0) : 0))
    this.extra = computed(() => (this.#version.value >= 0 ? this.#extra : []))
  }

  /** Filters under which the plants are probably found, also after the stocktake has set other tags. */
  get filters(): readonly Wanted[] {
    return [this.wanted, ...this.#tags.map((tag) => ({ q: '', tags: [tag] }))]
  }

  isOfSet(id: bigint): boolean {
    return this.#indexOf(id) !== undefined
  }

  isThere(id: bigint): boolean {
    const at = this.#indexOf(id)
    return at !== undefined && this.#there[at] === 1
  }

  /** The plants of the set that were found, or those that were not, in ascending order. */
  ofSet(isThere: boolean): readonly bigint[] {
    const wanted = this.#version.value >= 0 && isThere ? 1 : 0
    const found: bigint[] = []
    for (let i = 0; i < this.ids.length; i++) {
      const id = this.ids[i]
      if (this.#there[i] === wanted && id !== undefined) found.push(id)
    }
    return found
  }

  /** Takes a plant as found. */
  find(id: bigint): Finding {
    if (this.isOfSet(id)) {
      if (this.isThere(id)) return 'again'
      this.tick(id, true)
      return 'there'
    }
    if (this.#extra.includes(id)) return 'extra-again'
    if (this.#extra.length === MOST_EXTRA) return 'full'
    this.#extra = [id, ...this.#extra]
    this.#version.value += 1
    return 'extra'
  }

  /** Says of a plant of the set whether it is there. */
  tick(id: bigint, isThere: boolean): void {
    const at = this.#indexOf(id)
    if (at === undefined) return
    this.#there[at] = isThere ? 1 : 0
    this.#version.value += 1
  }

  /** Takes a plant that is not of the set off the list. */
  leaveOut(id: bigint): void {
    this.#extra = this.#extra.filter((each) => each !== id)
    this.#version.value += 1
  }

  /** undefined: the page has not read the plant yet. Reads a signal. */
  plant(id: bigint): StoredPlant | null | undefined {
    return this.#known.value >= 0 ? this.#plants.get(id) : undefined
  }

  /** The ids of plants that the page has not read from the service yet. Reads signals. */
  get unread(): readonly bigint[] {
    if (this.#known.value < 0) return []
    return [...this.extra.value, ...this.ids].filter((id) => !this.#plants.has(id) || this.#seen.has(id))
  }

  /** When this device has seen the first of the plants that only it has seen; undefined: there is none. Reads a signal. */
  get seenSince(): number | undefined {
    return this.#known.value >= 0 && this.#seen.size > 0 ? this.#since : undefined
  }

  /** Takes plants as this device has seen them before, where nothing later is known. @param since when, the first one */
  recall(plants: readonly StoredPlant[], since: number): void {
    for (const plant of plants) {
      if (this.#plants.has(plant.id)) continue
      this.#plants.set(plant.id, plant)
      this.#seen.add(plant.id)
      this.#since = Math.min(this.#since, since)
    }
    this.#known.value += 1
  }

  /** Takes plants as they are now. @param absent ids that no plant has */
  learn(plants: readonly StoredPlant[], absent: readonly bigint[] = []): void {
    for (const plant of plants) this.#plants.set(plant.id, plant)
    for (const id of absent) this.#plants.set(id, null)
    for (const id of [...plants.map((plant) => plant.id), ...absent]) this.#seen.delete(id)
    this.#known.value += 1
  }

  /** Remembers where to look for plants to which the person has given another tag. */
  hasSet(tag: string): void {
    this.#tags = [...new Set([tag, ...this.#tags])].slice(0, MOST_TAGS)
    this.#version.value += 1
  }

  /** The set never changes, so it is written once. Differences of neighbours are short. */
  get setText(): string {
    let before = 0n
    const steps = Array.from(this.ids, (id) => {
      const step = id - before
      before = id
      return step
    })
    return JSON.stringify({ wanted: this.wanted, begun: this.begun, steps: steps.join(' ') })
  }

  /** What the person has found. Reads signals. */
  get foundText(): string {
    const extra = this.#version.value >= 0 ? this.#extra.map(String) : []
    const bits = new Uint8Array(Math.ceil(this.#there.length / 8))
    this.#there.forEach((each, i) => {
      bits[i >> 3] = (bits[i >> 3] ?? 0) | (each << (i & 7))
    })
    return JSON.stringify({ there: btoa(String.fromCharCode(...bits)), extra, tags: this.#tags })
  }

  /** Takes over what another tab of the device has found. */
  takeFound(text: string): void {
    const { there, extra, tags } = recordIn(JSON.parse(text))
    if (typeof there !== 'string') return
    const bits = Uint8Array.from(atob(there), (byte) => byte.charCodeAt(0))
    for (let i = 0; i < this.#there.length; i++) this.#there[i] = ((bits[i >> 3] ?? 0) >> (i & 7)) & 1
    this.#extra = itemsIn(extra, isText).map(BigInt).slice(0, MOST_EXTRA)
    this.#tags = itemsIn(tags, isText).slice(0, MOST_TAGS)
    this.#version.value += 1
  }

  /** @returns undefined where the texts are none of a stocktake, such as those of a later version */
  static read({ set, found }: StocktakeText): Stocktake | undefined {
    try {
      const { wanted, begun, steps } = recordIn(JSON.parse(set))
      if (typeof steps !== 'string' || typeof begun !== 'number' || !isWanted(wanted)) return undefined
      let before = 0n
      const ids = steps
        .split(' ')
        .slice(0, MOST_PLANTS)
        .map((step) => {
          before += BigInt(step)
          return before
        })
      const stocktake = new Stocktake(wanted, ids, begun)
      stocktake.takeFound(found)
      return stocktake
    } catch {
      return undefined
    }
  }

  #indexOf(id: bigint): number | undefined {
    let [low, high] = [0, this.ids.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.ids[middle] ?? id) < id) low = middle + 1
      else high = middle
    }
    return this.ids[low] === id ? low : undefined
  }
}

const isWanted = (value: unknown): value is Wanted => {
  const { q, tags, tagPrefix, untagged } = recordIn(value)
  return (
    isText(q) &&
    Array.isArray(tags) &&
    tags.every(isText) &&
    (tagPrefix === undefined || isText(tagPrefix)) &&
    (untagged === undefined || untagged === true)
  )
}
