import type { Store } from '../store.ts'
import { counted, type Standing, time } from './progress.ts'
import type { Tally } from './tally.ts'

/** What follows an import straight into a store, so that whoever searches next need not wait for it. */
export class Indexing {
  readonly #tally: Tally
  #startedAt: number | undefined
  #indexed = 0
  #seconds = 0

  constructor(tally: Tally) {
    this.#tally = tally
  }

  /** Where it stands, once it has begun. */
  get standing(): Standing | undefined {
    if (this.#startedAt === undefined) return undefined
    // Others may have left plants to index as well.
    const all = Math.max(this.#tally.added + this.#tally.updated, this.#indexed)
    return { doing: 'indexing', rows: this.#indexed, done: all === 0 ? 1 : this.#indexed / all }
  }

  /** @param stop ends it early, by throwing its reason */
  async run(store: Store, stop: AbortSignal): Promise<void> {
    this.#tally.end()
    const startedAt = performance.now()
    this.#startedAt = startedAt
    await store.indexPlants(stop, (plants) => {
      this.#indexed += plants
      this.#seconds = (performance.now() - startedAt) / 1000
    })
  }

  /** Plants so far. */
  get indexed(): number {
    return this.#indexed
  }

  /** `indexed for searches: 12 plants in 0.1 s` */
  toString(): string {
    return `indexed for searches: ${counted(this.#indexed, 'plant')} in ${time(this.#seconds)}`
  }
}
