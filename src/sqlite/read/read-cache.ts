/**
 * Caches values that are read repeatedly, until the next write of any connection. A full cache is emptied, which is
 * cheaper than to track the least recently used value.
 *
 * Only values that were read twice are cached: caching every value slowed non-repeating reads by 25%, as they outlive
 * the young generation of the heap. Callers share a cached value and must not change it.
 */
export class ReadCache<Key, Value extends object> {
  readonly #maxText: number
  readonly #textOf: (value: Value) => number
  readonly #values = new Map<Key, Value>()
  /** Keys that were read once. A write does not clear them, as it does not change what clients read. */
  readonly #asked = new Set<Key>()
  #version: unknown
  #text = 0

  /**
   * @param maxText the bound of the sum of `textOf` over all values
   * @param textOf UTF-16 units of a value, which stand for its memory
   */
  constructor(maxText: number, textOf: (value: Value) => number) {
    this.#maxText = maxText
    this.#textOf = textOf
  }

  /** Call it before `get`, with the version of the store that is read from now on. */
  readAt(version: unknown): void {
    if (version === this.#version) return
    this.#clear()
    this.#version = version
  }

  /** @param read reads a value that is not cached; undefined when there is none */
  get<Found extends Value | undefined>(key: Key, read: (key: Key) => Found): Value | Found {
    const kept = this.#values.get(key)
    if (kept !== undefined) return kept
    const found = read(key)
    if (found !== undefined && this.#isAskedAgain(key)) this.#keep(key, found)
    return found
  }

  #isAskedAgain(key: Key): boolean {
    if (this.#asked.delete(key)) return true
    if (this.#asked.size === MAX_ASKED) this.#asked.clear()
    this.#asked.add(key)
    return false
  }

  #keep(key: Key, value: Value): void {
    const text = OVERHEAD + this.#textOf(value)
    if (text > this.#maxText) return
    if (this.#text + text > this.#maxText) this.#clear()
    this.#text += text
    this.#values.set(key, value)
  }

  #clear(): void {
    this.#values.clear()
    this.#text = 0
  }
}

/** Keys of values that were read once and are remembered. */
const MAX_ASKED = 2000
/** UTF-16 units that each value counts in addition, so that many empty ones are bounded as well. */
const OVERHEAD = 50
