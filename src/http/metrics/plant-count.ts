import type { Store } from '../../store.ts'
import type { Metrics } from './metrics.ts'

/** Milliseconds between two counts at least, and how many times as long as a count its pause is. */
const SHORTEST_PAUSE = 60_000
const PAUSE_FACTOR = 100

/**
 * Shows in the metrics how many plants there are. Counting reads the whole table, so it runs in the background, takes at
 * most a hundredth of the time, and begins only with a scrape.
 */
export class PlantCount {
  readonly #store: Pick<Store, 'countPlants'>
  readonly #now: () => number
  #plants = Number.NaN
  #nextAt = Number.NEGATIVE_INFINITY

  /** @param now milliseconds */
  constructor(store: Pick<Store, 'countPlants'>, now: () => number = () => performance.now()) {
    this.#store = store
    this.#now = now
  }

  describe(metrics: Metrics): void {
    metrics.value('plantstore_plants', () => {
      if (this.#now() >= this.#nextAt) void this.#count()
      return this.#plants
    })
  }

  async #count(): Promise<void> {
    const startedAt = this.#now()
    this.#nextAt = Number.POSITIVE_INFINITY
    try {
      this.#plants = await this.#store.countPlants()
    } catch {
      // The store is out of reach or closed, which other metrics and the log tell. The last count stays.
    }
    const now = this.#now()
    this.#nextAt = now + Math.max(SHORTEST_PAUSE, PAUSE_FACTOR * (now - startedAt))
  }
}
