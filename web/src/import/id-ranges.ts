import type { IdRange, PlantstoreClient } from '../../../client/src/index.ts'

/** What the service reserves at once at most. */
const MOST = 10_000

/**
 * Ids for the plants of one file that has none. A plant keeps its id when the import is done again, so that a second
 * attempt adds no plant twice.
 */
export class IdRanges {
  readonly #client: PlantstoreClient
  readonly #count: number
  readonly #ranges: IdRange[] = []

  /** @param count how many plants the file has */
  constructor(client: PlantstoreClient, count: number) {
    this.#client = client
    this.#count = count
  }

  /** The id of the plant with this number, from 0 on. */
  async idOf(number: number, signal?: AbortSignal): Promise<bigint> {
    const at = Math.floor(number / MOST)
    while (this.#ranges.length <= at) {
      const left = this.#count - this.#ranges.length * MOST
      this.#ranges.push(await this.#client.reserveIds(Math.min(MOST, left), { signal }))
    }
    return (this.#ranges[at] as IdRange).first + BigInt(number % MOST)
  }
}
