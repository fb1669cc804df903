const WORDS = 2 ** 16
const BITS_OF_WORD = 32

/**
 * A Bloom filter of ids with one hash function, in 256 KiB. With 50,000 ids, one in forty other ids is a false
 * positive.
 */
export class IdSet {
  readonly #words = new Uint32Array(WORDS)

  add(id: bigint): void {
    const bit = bitOf(id)
    const word = bit >>> 5
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (bit % BITS_OF_WORD))
  }

  /** Yields the ids that the set may contain, and undefined after every `others` ids that it does not contain. */
  *among(ids: Iterable<bigint>, others: number): Iterable<bigint | undefined> {
    let seen = 0
    for (const id of ids) {
      if (this.mayHave(id)) yield id
      else if (++seen % others === 0) yield undefined
    }
  }

  mayHave(id: bigint): boolean {
    const bit = bitOf(id)
    return ((this.#words[bit >>> 5] ?? 0) & (1 << (bit % BITS_OF_WORD))) !== 0
  }
}

/** Fibonacci hashing: the upper bits of the product depend on all bits of the id. */
function bitOf(id: bigint): number {
  const low = Number(BigInt.asUintN(32, id))
  const high = Number(BigInt.asUintN(32, id >> 32n))
  return (Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1) >>> 0) >>> 11
}
