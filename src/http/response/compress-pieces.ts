import {
  type BrotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type Gzip,
  type ZstdCompress,
} from 'node:zlib'
import type { Coding } from '../request/negotiation.ts'
import { BROTLI, GZIP, ZSTD } from './compression.ts'

/**
 * Compresses pieces one at a time, and yields each as soon as it is compressed. Only one piece is in memory. Returning
 * early closes the source.
 */
export async function* compressPieces(pieces: AsyncIterable<string>, coding: Coding): AsyncGenerator<Buffer, void> {
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
