import type { Metrics } from '../metrics/metrics.ts'
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
    metrics.value('plantstore_compressing_bytes', () => this.#bytes)
    metrics.value('plantstore_answers_uncompressed_total', () => this.#skipped)
    metrics.bound('compressionLimit', this.#limit, () => this.#bytes)
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
