import { type Format, headerOf } from '../import/format.ts'

const QUOTE = 0x22
const LF = 0x0a

/** Counts the rows of a file that goes by. The header of a table is none of them. */
export class RowCounter {
  readonly #isTable: boolean
  #lines: number
  #inQuotes = false

  constructor(format: Format) {
    this.#isTable = format === 'csv'
    this.#lines = headerOf(format) === '' ? 0 : -1
  }

  get rows(): number {
    return Math.max(0, this.#lines)
  }

  async *count(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of content) {
      for (const byte of chunk) {
        // A line feed between quotation marks is part of a text; a doubled mark ends and begins such a text again.
        if (byte === QUOTE && this.#isTable) this.#inQuotes = !this.#inQuotes
        else if (byte === LF && !this.#inQuotes) this.#lines++
      }
      yield chunk
    }
  }
}
