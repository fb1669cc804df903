import type { Metrics } from '../metrics/metrics.ts'
import type { Coding } from '../request/negotiation.ts'
import { compress } from './compression.ts'

/**
 * Compresses whole bodies, up to a bound on their bytes. The thread pool compresses four at a time, and the others wait
 * in memory. The caller sends a body without room uncompressed, which every client can read.
 */
export class Compressor {
  readonly #limit: number
  #bytes = 0
  #skipped = 0

  /** @param limit bytes of bodies that are compressed, or wait for it, at once. A single body always has room */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Registers the metrics of compression. */
  describe(metrics: Metrics): void {
    metrics.value('plantstore_compressing_bytes', () => this.#bytes)
    metrics.value('plantstore_answers_uncompressed_total', () => this.#skipped)
    metrics.bound('compressionLimit', this.#limit, () => this.#bytes)
  }

  /** Whether a body of this size may be compressed now. Counts it as uncompressed if not. */
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
