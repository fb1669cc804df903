import type { IdRange, PlantstoreClient } from '../../../client/src/index.ts'

/** The most ids that one request reserves. */
const MOST = 10_000

/** Assigns ids to the plants of a file. A repeated import assigns the same ids, so it adds no plant twice. */
export class IdRanges {
  readonly #count: number
  readonly #ranges: IdRange[] = []

  /** @param count the number of plants in the file */
  constructor(count: number) {
    this.#count = count
  }

  /** @param number the position of the plant in the file, from 0 */
  async idOf(client: PlantstoreClient, number: number, signal?: AbortSignal): Promise<bigint> {
    const at = Math.floor(number / MOST)
    while (this.#ranges.length <= at) {
      const left = this.#count - this.#ranges.length * MOST
      this.#ranges.push(await client.reserveIds(Math.min(MOST, left), { signal }))
    }
    return (this.#ranges[at] as IdRange).first + BigInt(number % MOST)
  }
}
