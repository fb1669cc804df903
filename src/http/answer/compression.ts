import { promisify } from 'node:util'
import {
  type BrotliCompress,
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type Gzip,
  gzip,
  type ZstdCompress,
  zstdCompress,
} from 'node:zlib'
import { Bound } from '../../base/counts.ts'
import { type Coding, codedTag } from '../request/head.ts'

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

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 3 } }
const GZIP = { level: 5 }

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
  readonly bound: Bound

  /** @param limit bytes of bodies that are compressed, or wait for it, at once. A single body always has room */
  constructor(limit: number) {
    this.bound = new Bound(limit)
  }

  /** Whether a body of this size may be compressed now. Counts it as uncompressed if not. */
  hasRoom(size: number): boolean {
    if (this.bound.used === 0 || this.bound.hasRoom(size)) return true
    this.bound.refused++
    return false
  }

  async compress(body: Buffer, coding: Coding): Promise<Buffer> {
    this.bound.used += body.length
    try {
      return await compress(body, coding)
    } finally {
      this.bound.used -= body.length
    }
  }
}

/**
 * Compresses pieces one at a time, and yields each as soon as it is compressed. Only one piece is in memory. Returning
 * early closes the source.
 */
export async function* compressPieces(
  pieces: AsyncIterable<string | Buffer>,
  coding: Coding,
): AsyncGenerator<Buffer, void> {
  const compressor = pieceCompressor(coding)
  let chunks: Buffer[] = []
  const failed = new Promise<never>((_resolve, reject) => compressor.stream.once('error', reject))
  // The next await throws the rejection. Until then Node.js must not count it as unhandled.
  failed.catch(() => {})
  compressor.stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  const take = (): Buffer => {
    const whole = Buffer.concat(chunks)
    chunks = []
    return whole
  }
  try {
    for await (const piece of pieces) {
      compressor.stream.write(piece)
      await Promise.race([new Promise<void>((resolve) => compressor.flush(resolve)), failed])
      const compressed = take()
      if (compressed.length > 0) yield compressed
    }
    const ended = new Promise<void>((resolve) => compressor.stream.once('end', resolve))
    compressor.stream.end()
    await Promise.race([ended, failed])
    yield take()
  } finally {
    compressor.stream.destroy()
  }
}

interface PieceCompressor {
  readonly stream: BrotliCompress | Gzip | ZstdCompress
  /** Calls back once the stream has emitted all written bytes. */
  readonly flush: (done: () => void) => void
}

function pieceCompressor(coding: Coding): PieceCompressor {
  switch (coding) {
    case 'zstd': {
      const stream = createZstdCompress(ZSTD)
      return { stream, flush: (done) => stream.flush(constants.ZSTD_e_flush, done) }
    }
    case 'br': {
      const stream = createBrotliCompress(BROTLI)
      return { stream, flush: (done) => stream.flush(constants.BROTLI_OPERATION_FLUSH, done) }
    }
    case 'gzip': {
      const stream = createGzip(GZIP)
      return { stream, flush: (done) => stream.flush(constants.Z_SYNC_FLUSH, done) }
    }
  }
}
