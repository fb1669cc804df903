/** A buffer that grows at its end. Its time and memory are linear in its bytes, even for tiny pieces. */
export class GrowingBuffer {
  #buffer = Buffer.alloc(0)
  length = 0

  /** @returns all bytes */
  append(piece: Buffer): Buffer {
    const length = this.length + piece.length
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * length)
      this.#buffer.copy(larger, 0, 0, this.length)
      this.#buffer = larger
    }
    piece.copy(this.#buffer, this.length)
    this.length = length
    return this.#buffer.subarray(0, length)
  }

  /** Replaces the content by these bytes, which may be a part of it. */
  keep(bytes: Buffer): void {
    if (
      bytes.length === this.length &&
      bytes.buffer === this.#buffer.buffer &&
      bytes.byteOffset === this.#buffer.byteOffset
    )
      return
    this.length = 0
    if (bytes.length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(2 * bytes.length)
    bytes.copy(this.#buffer)
    this.length = bytes.length
  }
}
