/** Bytes that lines take before they are mostly taken out. */
const INITIAL_SIZE = 2 ** 16 + 2 ** 13
/** The most bytes of UTF-8 for one UTF-16 unit. */
const MAX_UNIT_BYTES = 3

/**
 * Gathers lines as UTF-8. It encodes each line at once, while the line is in the processor's cache; thousands of
 * strings would also survive the collections of the young generation.
 */
export class LineBuffer {
  #bytes = Buffer.allocUnsafeSlow(INITIAL_SIZE)
  #end = 0
  #length = 0

  /** UTF-16 units of the lines. */
  get length(): number {
    return this.#length
  }

  add(line: string): void {
    const needed = this.#end + MAX_UNIT_BYTES * line.length
    if (needed > this.#bytes.length) this.#grow(Math.max(needed, 2 * this.#bytes.length))
    this.#end += this.#bytes.write(line, this.#end)
    this.#length += line.length
  }

  /** Removes all lines, and returns them. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#end)
    this.#bytes = Buffer.allocUnsafeSlow(INITIAL_SIZE)
    this.#end = 0
    this.#length = 0
    return taken
  }

  #grow(size: number): void {
    const larger = Buffer.allocUnsafeSlow(size)
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
}
