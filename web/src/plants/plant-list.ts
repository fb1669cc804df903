import { signal } from '@preact/signals'
import type { Listing, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isAbort, said } from '../said.ts'
import { type Filter, wantedBy } from './filter.ts'

/** A page of plants. */
export interface Chunk {
  readonly key: number
  readonly plants: readonly StoredPlant[]
}

const PAGE = 100

/** The plants of a filter, read page by page on demand. Those of the old filter stay until the new ones arrive. */
export class PlantList {
  readonly chunks = signal<readonly Chunk[]>([])
  readonly state = signal<'searching' | 'loading' | 'more' | 'whole' | 'failed'>('searching')
  readonly fault = signal('')
  readonly #client: PlantstoreClient
  #filter: Filter | undefined
  #listing: Listing<StoredPlant> | undefined
  #next: string | undefined
  #ending = new AbortController()
  #key = 0

  constructor(client: PlantstoreClient) {
    this.#client = client
  }

  /** Shows the plants of a filter, and aborts the previous search. */
  show(filter: Filter): void {
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#filter = filter
    this.#next = undefined
    this.#listing = this.#client.listPlants({ ...wantedBy(filter), limit: PAGE }, { signal: this.#ending.signal })
    void this.#load('searching')
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
  }

  replace(plant: StoredPlant): void {
    this.#map((plants) => plants.map((each) => (each.id === plant.id ? plant : each)))
  }

  remove(id: bigint): void {
    this.#map((plants) => plants.filter((each) => each.id !== id))
  }

  /** Shows a new plant first, regardless of the order of the table. */
  putFirst(plant: StoredPlant): void {
    this.remove(plant.id)
    this.#key += 1
    this.chunks.value = [{ key: this.#key, plants: [plant] }, ...this.chunks.value]
  }

  /** Whether a page read so far contains the plant. */
  has(id: bigint): boolean {
    return this.chunks.value.some(({ plants }) => plants.some((plant) => plant.id === id))
  }

  #map(change: (plants: readonly StoredPlant[]) => readonly StoredPlant[]): void {
    this.chunks.value = this.chunks.value.map(({ key, plants }) => ({ key, plants: change(plants) }))
  }

  async #load(state: 'searching' | 'loading'): Promise<void> {
    const listing = this.#listing
    const { signal: ended } = this.#ending
    this.state.value = state
    try {
      const { items, next } = (await listing?.page(this.#next)) ?? { items: [], next: undefined }
      if (ended.aborted) return
      this.#key += 1
      const chunk = { key: this.#key, plants: items }
      this.chunks.value = state === 'searching' ? [chunk] : [...this.chunks.value, chunk]
      this.#next = next
      this.state.value = next === undefined ? 'whole' : 'more'
    } catch (error) {
      if (isAbort(error) || ended.aborted) return
      this.fault.value = said(error)
      this.state.value = 'failed'
    }
  }
}
