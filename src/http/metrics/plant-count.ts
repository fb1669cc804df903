import type { Store } from '../../domain/store.ts'
import type { Metrics } from './metrics.ts'

/** The least milliseconds between a count and the next one. */
const MIN_PAUSE = 60_000
/** The least pause after a count, as a multiple of the count's duration. */
const PAUSE_FACTOR = 100

/**
 * Counts the plants for the metrics. A count reads the whole table, so it starts only with a scrape, runs in the
 * background, and takes at most a hundredth of the time.
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

  /** Registers the metric. */
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
      // Other metrics and the log show that the store is out of reach or closed. The last count stays.
    }
    const now = this.#now()
    this.#nextAt = now + Math.max(MIN_PAUSE, PAUSE_FACTOR * (now - startedAt))
  }
}
