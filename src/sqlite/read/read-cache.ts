/**
 * Caches values that are read repeatedly, until the next write of any connection. It empties a full cache, which is
 * cheaper than to track the least recently used value.
 *
 * It caches only values that were read twice. To cache every value slowed non-repeating reads by 25%, as the values
 * outlived the young generation of the heap. Callers share a cached value, and must not change it.
 */
export class ReadCache<Key, Value extends object> {
  readonly #maxText: number
  readonly #textOf: (value: Value) => number
  readonly #values = new Map<Key, Value>()
  /** Keys that were read once. A write does not clear them, as clients read the same keys after it. */
  readonly #readOnce = new Set<Key>()
  #version: unknown
  #text = 0

  /**
   * @param maxText bounds the sum of `textOf` over all values
   * @param textOf returns the UTF-16 units of a value, an estimate of its memory
   */
  constructor(maxText: number, textOf: (value: Value) => number) {
    this.#maxText = maxText
    this.#textOf = textOf
  }

  /** Call it before `get`, with the version of the store that `read` sees. */
  readAt(version: unknown): void {
    if (version === this.#version) return
    this.#clear()
    this.#version = version
  }

  /** @param read reads a value that is not cached; undefined when there is none */
  get<Found extends Value | undefined>(key: Key, read: (key: Key) => Found): Value | Found {
    const cached = this.#values.get(key)
    if (cached !== undefined) return cached
    const found = read(key)
    if (found !== undefined && this.#isSecondRead(key)) this.#add(key, found)
    return found
  }

  #isSecondRead(key: Key): boolean {
    if (this.#readOnce.delete(key)) return true
    if (this.#readOnce.size === MAX_READ_ONCE) this.#readOnce.clear()
    this.#readOnce.add(key)
    return false
  }

  #add(key: Key, value: Value): void {
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

/** Maximum number of keys in #readOnce. */
const MAX_READ_ONCE = 2000
/** UTF-16 units added to each value, which bounds the number of empty values too. */
const OVERHEAD = 50
