/**
 * What is read again and again, for as long as nobody writes. The first write of anybody empties it, and so does one value
 * too many, which is cheaper than to know which of them is used least.
 *
 * Only values that were read twice are cached: caching every value slowed non-repeating reads by 25%, as it lives too
 * long for the young generation of the heap. Callers share a cached value, so nobody may change it.
 */
export class ReadCache<Key, Value extends object> {
  readonly #maxText: number
  readonly #textOf: (value: Value) => number
  readonly #values = new Map<Key, Value>()
  /** What was asked for lately and is not kept; what is written meanwhile does not change what people ask for. */
  readonly #asked = new Set<Key>()
  #version: unknown
  #text = 0

  /**
   * @param maxText what `textOf` may come to for all values together
   * @param textOf the characters of a value, which bound the memory that it takes
   */
  constructor(maxText: number, textOf: (value: Value) => number) {
    this.#maxText = maxText
    this.#textOf = textOf
  }

  /** To be called before any value is asked for, with the version of the store that is read from now on. */
  readAt(version: unknown): void {
    if (version === this.#version) return
    this.#clear()
    this.#version = version
  }

  /** @param read what is there and is not kept; where it gives undefined, nothing is there */
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

/** Keys of values that were read once. */
const MAX_ASKED = 2000
/** What a value counts beside its characters, so that many empty ones are bounded as well. */
const OVERHEAD = 50
