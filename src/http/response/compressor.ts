import type { Metrics } from '../metrics.ts'
import type { Coding } from '../request/negotiation.ts'
import { compress } from './compression.ts'

/**
 * Compresses whole bodies as long as those under way are not too much: four at a time are compressed, in Node's thread
 * pool, and all others wait for them in memory. A body that finds no room is sent as it is, which every client can read.
 */
export class Compressor {
  readonly #limit: number
  #bytes = 0
  #skipped = 0

  /** @param limit bytes of bodies that are compressed or wait for it at once. One body finds room in any case */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Puts what is counted here into the metrics. */
  describe(metrics: Metrics): void {
    const bytes = 'Bytes of answers that are being compressed.'
    metrics.gauge('plantstore_compressing_bytes', bytes, () => this.#bytes)
    const skipped = 'Answers sent uncompressed, as too many were being compressed.'
    metrics.counter('plantstore_answers_uncompressed_total', skipped, () => this.#skipped)
  }

  /** Whether a body of this size may be compressed now. */
  hasRoom(size: number): boolean {
    if (this.#bytes === 0 || this.#bytes + size <= this.#limit) return true
    this.#skipped++
    return false
  }

  async compress(body: Buffer, coding: Coding): Promise<Buffer> {
    this.#bytes += body.length
    try {
      return await compress(body, coding)
    } finally {
      this.#bytes -= body.length
    }
  }
}
