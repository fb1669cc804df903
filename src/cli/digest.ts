import { createHash } from 'node:crypto'
import type { NewPlant } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'

const MODULUS = 2n ** 128n

/** The digest of a set of plants, whatever their order: their number, and the sum of their hashes. */
export class Digest {
  #count = 0
  #sum = 0n

  add({ id, name, tag }: NewPlant): void {
    // JSON distinguishes an absent tag from an empty one, and any two different plants.
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

/** Yields all plants of a store, in chunks. */
export const allPlants = (store: Store): AsyncIterable<readonly NewPlant[]> =>
  store.exportPlants({ tags: [], words: [] }, 'id')
