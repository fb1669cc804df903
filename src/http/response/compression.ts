import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { Metrics } from '../metrics/metrics.ts'
import { codedTag } from '../request/entity-tags.ts'
import { type Coding, preferredCoding } from '../request/negotiation.ts'

/** Bytes. For a smaller body, a header and a task in the thread pool cost more than compression saves. */
const MIN_COMPRESSED = 1024

/** The coding for a whole body; undefined for an uncompressed one. */
export function codingOf({ headers }: IncomingMessage, body: string | Buffer): Coding | undefined {
  const accepted = headers['accept-encoding']
  if (accepted === undefined || Buffer.byteLength(body) < MIN_COMPRESSED) return undefined
  return preferredCoding(accepted)
}

/** Adds the coding to the headers of an answer. */
export function withCoding(headers: string[], coding: Coding): string[] {
  headers.push('Content-Encoding', coding)
  return withCodedTag(headers, coding)
}

/** Adds the coding to the entity tag, because a strong one differs where the bytes do (RFC 9110 section 8.8.3). */
export function withCodedTag(headers: string[], coding: Coding): string[] {
  const at = headers.indexOf('ETag') + 1
  if (at > 0) headers[at] = codedTag(headers[at] ?? '', coding)
  return headers
}

export const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
export const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
export const GZIP = { level: 5 }

const COMPRESSORS: Readonly<Record<Coding, (body: Buffer) => Promise<Buffer>>> = {
  zstd: (body) => promisify(zstdCompress)(body, ZSTD),
  br: (body) => promisify(brotliCompress)(body, BROTLI),
  gzip: (body) => promisify(gzip)(body, GZIP),
}

/** Compresses a whole body in the thread pool of libuv. */
const compress = (body: Buffer, coding: Coding): Promise<Buffer> => COMPRESSORS[coding](body)

/** Compresses files that the service sends often, each file once for each coding. */
export class CompressedFiles {
  readonly #compressed = new WeakMap<Buffer, Map<Coding, Promise<Buffer>>>()

  compress(body: Buffer, coding: Coding): Promise<Buffer> {
    let codings = this.#compressed.get(body)
    if (codings === undefined) {
      codings = new Map()
      this.#compressed.set(body, codings)
    }
    let compressed = codings.get(coding)
    if (compressed === undefined) {
      compressed = compress(body, coding)
      codings.set(coding, compressed)
    }
    return compressed
  }
}

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
