import { computed, signal } from '@preact/signals'
import type { Listing, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isAbort, said } from '../said.ts'
import { findById, withFirst } from './by-id.ts'
import { type Filter, wantedBy } from './filter.ts'

/** A page of plants. */
export interface Chunk {
  readonly key: number
  readonly plants: readonly StoredPlant[]
}

const PAGE = 100

/** The list that the table shows. */
let shown: PlantList | undefined

/** The plants of a filter, read page by page on demand. Those of the old filter stay until the new ones arrive. */
export class PlantList {
  /** The pages read so far, with the places of the plants removed since. */
  readonly #read = signal<readonly Chunk[]>([])
  readonly #removed = signal<ReadonlySet<bigint>>(new Set())
  readonly chunks = computed((): readonly Chunk[] => {
    const removed = this.#removed.value
    if (removed.size === 0) return this.#read.value
    return this.#map((plants) => plants.filter(({ id }) => !removed.has(id)))
  })
  readonly state = signal<'searching' | 'loading' | 'more' | 'whole' | 'failed'>('searching')
  readonly fault = signal('')
  readonly #client: PlantstoreClient
  #filter: Filter | undefined
  #foundById: StoredPlant | undefined
  #listing: Listing<StoredPlant> | undefined
  #next: string | undefined
  #ending = new AbortController()
  #key = 0

  constructor(client: PlantstoreClient) {
    this.#client = client
  }

  /** Shows the plants of a filter, and aborts the previous search. */
  show(filter: Filter): void {
    void this.#search(filter)
  }

  /** Loads the next page, unless there is none or it is loading already. */
  more(): void {
    if (this.state.value === 'more') void this.#load('loading')
  }

  /** Repeats the request that failed. */
  retry(): void {
    if (this.#next === undefined && this.#filter !== undefined) this.show(this.#filter)
    else void this.#load('loading')
  }

  stop(): void {
    this.#ending.abort()
    if (shown === this) shown = undefined
  }

  replace(plant: StoredPlant): void {
    this.#read.value = this.#map((plants) => plants.map((each) => (each.id === plant.id ? plant : each)))
  }

  remove(id: bigint): void {
    this.#removed.value = new Set([...this.#removed.value, id])
  }

  /** Shows a removed plant again where it was. The table reads its rows again if it has read them since the removal. */
  async putBack({ id }: StoredPlant): Promise<void> {
    const removed = this.#removed.value
    this.#removed.value = removed.difference(new Set([id]))
    if (shown !== undefined && (shown !== this || !removed.has(id))) await shown.#again()
  }

  /** Shows a new plant first, regardless of the order of the table. */
  putFirst(plant: StoredPlant): void {
    const others = this.#map((plants) => plants.filter((each) => each.id !== plant.id))
    this.#removed.value = this.#removed.value.difference(new Set([plant.id]))
    this.#key += 1
    this.#read.value = [{ key: this.#key, plants: [plant] }, ...others]
  }

  /** Whether a page read so far contains the plant. */
  has(id: bigint): boolean {
    return this.chunks.value.some(({ plants }) => plants.some((plant) => plant.id === id))
  }

  #map(change: (plants: readonly StoredPlant[]) => readonly StoredPlant[]): readonly Chunk[] {
    return this.#read.value.map(({ key, plants }) => ({ key, plants: change(plants) }))
  }

  async #again(): Promise<void> {
    if (this.#filter !== undefined) await this.#search(this.#filter)
  }

  #search(filter: Filter): Promise<void> {
    shown = this
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#filter = filter
    this.#next = undefined
    this.#listing = this.#client.listPlants({ ...wantedBy(filter), limit: PAGE }, { signal: this.#ending.signal })
    return this.#load('searching')
  }

  async #load(state: 'searching' | 'loading'): Promise<void> {
    const listing = this.#listing
    const filter = this.#filter
    const { signal: ended } = this.#ending
    this.state.value = state
    try {
      const [found, page] = await Promise.all([
        state === 'searching' && filter !== undefined ? findById(this.#client, filter, ended) : this.#foundById,
        listing?.page(this.#next),
      ])
      if (ended.aborted) return
      const { items, next } = page ?? { items: [], next: undefined }
      this.#key += 1
      if (state === 'searching') {
        this.#foundById = found
        this.#removed.value = new Set()
        this.#read.value = [{ key: this.#key, plants: withFirst(found, items) }]
      } else {
        const plants = items.filter(({ id }) => id !== found?.id)
        this.#read.value = [...this.#read.value, { key: this.#key, plants }]
      }
      this.#next = next
      this.state.value = next === undefined ? 'whole' : 'more'
    } catch (error) {
      if (isAbort(error) || ended.aborted) return
      this.fault.value = said(error)
      this.state.value = 'failed'
    }
  }
}
