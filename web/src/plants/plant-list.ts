import { signal } from '@preact/signals'
import type { Listing, PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { isAbort, said } from '../said.ts'
import { type Filter, wantedBy } from './filter.ts'

/** A page of plants, as the service has answered it. */
export interface Chunk {
  readonly key: number
  readonly plants: readonly StoredPlant[]
}

const PAGE = 100

/** The plants of a filter, read page by page on demand. The last ones stay in view until the next answer is there. */
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

  /** Shows the plants of a filter, and ends the search before it. */
  show(filter: Filter): void {
    this.#ending.abort()
    this.#ending = new AbortController()
    this.#filter = filter
    this.#next = undefined
    this.#listing = this.#client.listPlants({ ...wantedBy(filter), limit: PAGE }, { signal: this.#ending.signal })
    void this.#load('searching')
  }

  /** Loads the next page, if there is one and it is not on its way. */
  more(): void {
    if (this.state.value === 'more') void this.#load('loading')
  }

  /** Asks again for what could not be read. */
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

  /** Shows a new plant first, wherever the order of the table would have it. */
  putFirst(plant: StoredPlant): void {
    this.remove(plant.id)
    this.#key += 1
    this.chunks.value = [{ key: this.#key, plants: [plant] }, ...this.chunks.value]
  }

  /** Whether a plant is in what was read so far. */
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
