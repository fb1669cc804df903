import { once } from 'node:events'
import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib'
import { Bound } from '../../base/counts.ts'
import { type Coding, withTagOf } from '../request/head.ts'

export function withCoding(headers: string[], coding: Coding): string[] {
  headers.push('Content-Encoding', coding)
  return withTagOf(headers, coding)
}

type Levels = Readonly<Record<Coding, number>>
const QUICK: Levels = { zstd: 3, br: 4, gzip: 5 }
/** For files, each of which is compressed once, in at most a quarter of a second. */
const SMALL: Levels = { zstd: 19, br: 9, gzip: 9 }

const zstdOf = ({ zstd }: Levels) => ({ params: { [constants.ZSTD_c_compressionLevel]: zstd } })
const brotliOf = ({ br }: Levels) => ({ params: { [constants.BROTLI_PARAM_QUALITY]: br } })

/** Compress a whole body in the thread pool of libuv. */
const COMPRESSORS: Readonly<Record<Coding, (body: Buffer, levels: Levels) => Promise<Buffer>>> = {
  zstd: (body, levels) => promisify(zstdCompress)(body, zstdOf(levels)),
  br: (body, levels) => promisify(brotliCompress)(body, brotliOf(levels)),
  gzip: (body, { gzip: level }) => promisify(gzip)(body, { level }),
}

/**
 * Compresses whole bodies, up to a bound on their bytes. The thread pool compresses four at a time, and the others wait
 * in memory. The caller sends a body without room uncompressed, which every client can read.
 */
export class Compressor {
  readonly bound: Bound
  readonly #files = new WeakMap<Buffer, Partial<Record<Coding, Promise<Buffer>>>>()

  /** @param limit bytes of bodies that are compressed, or wait for it, at once. A single body always has room */
  constructor(limit: number) {
    this.bound = new Bound(limit)
  }

  /** @returns undefined without room */
  compress(body: Buffer, coding: Coding): Promise<Buffer> | undefined {
    if (this.bound.used > 0 && !this.bound.hasRoom(body.length)) {
      this.bound.refused++
      return undefined
    }
    this.bound.used += body.length
    return COMPRESSORS[coding](body, QUICK).finally(() => {
      this.bound.used -= body.length
    })
  }
  /** Compresses a file that the service sends often, once for each coding. */
  compressFile(file: Buffer, coding: Coding): Promise<Buffer> {
    const codings = this.#files.get(file) ?? {}
    const compressed = codings[coding] ?? COMPRESSORS[coding](file, SMALL)
    this.#files.set(file, { ...codings, [coding]: compressed })
    return compressed
  }
}

/** Streams that flush after each piece. */
const STREAMS: Readonly<Record<Coding, () => Transform>> = {
  zstd: () => createZstdCompress({ ...zstdOf(QUICK), flush: constants.ZSTD_e_flush }),
  br: () => createBrotliCompress({ ...brotliOf(QUICK), flush: constants.BROTLI_OPERATION_FLUSH }),
  gzip: () => createGzip({ level: QUICK.gzip, flush: constants.Z_SYNC_FLUSH }),
}

/**
 * Compresses pieces one at a time, and yields each as soon as it is compressed. Only one piece is in memory. Returning
 * early closes the source.
 */
export async function* compressPieces(
  pieces: AsyncIterable<string | Buffer>,
  coding: Coding,
): AsyncGenerator<Buffer, void> {
  const stream = STREAMS[coding]()
  let chunks: Buffer[] = []
  const ended = once(stream, 'end')
  // The next await throws a failure. Until then Node.js must not count it as unhandled.
  ended.catch(() => {})
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  try {
    for await (const piece of pieces) {
      await Promise.race([new Promise((resolve) => stream.write(piece, resolve)), ended])
      const compressed = Buffer.concat(chunks)
      chunks = []
      if (compressed.length > 0) yield compressed
    }
    stream.end()
    await ended
    yield Buffer.concat(chunks)
  } finally {
    stream.destroy()
  }
}
