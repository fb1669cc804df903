import { createHash } from 'node:crypto'
import type { NewPlant } from '../plant.ts'
import type { Store } from '../store.ts'

const MODULUS = 2n ** 128n

/** The digest of a set of plants in any order: their number, and the sum of their checksums. */
export class Digest {
  #count = 0
  #sum = 0n

  add({ id, name, tag }: NewPlant): void {
    // JSON tells an absent tag from an empty one, and gives no two plants the same text.
    const text = JSON.stringify([String(id), name, tag ?? null])
    const hash = createHash('sha256').update(text).digest('hex')
    this.#count++
    this.#sum = (this.#sum + BigInt(`0x${hash.slice(0, 32)}`)) % MODULUS
  }

  get count(): number {
    return this.#count
  }

  equals(other: Digest): boolean {
    return this.#count === other.#count && this.#sum === other.#sum
  }

  toString(): string {
    return this.#sum.toString(16).padStart(32, '0')
  }
}

/** All plants of a store, a chunk at a time. */
export const allPlants = (store: Store): AsyncIterable<readonly NewPlant[]> =>
  store.exportPlants({ tags: [], words: [] }, 'id')
