import { fstatSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { OperatorError } from '../base/operator-error.ts'
import { fileFault } from './file-fault.ts'

/** A file to read once, from its start to its end. */
export interface Input {
  /** The share read so far, from 0 to 1; undefined for a pipe or device, which has no size. */
  readonly share: number | undefined
  /**
   * Yields the decompressed content.
   *
   * @throws OperatorError when the file can't be read or decompressed
   */
  content(): AsyncGenerator<Buffer>
  close(): void
}

/** Bytes in one piece. The rows of a piece share a commit or a request. */
const PIECE = 2 ** 18

/**
 * Opens a file, or standard input for `-`.
 *
 * @param signal ends the read, which then throws the signal's reason
 * @throws OperatorError when the file does not exist or is not readable
 */
export async function openInput(file: string, gzip: boolean, signal: AbortSignal): Promise<Input> {
  const { stream, size } = file === '-' ? standardInput() : await openFile(file)
  const name = file === '-' ? 'standard input' : file
  // `content` throws the error. Without a listener, an error before the first read would end the process.
  stream.on('error', () => {})
  signal.addEventListener('abort', () => stream.destroy(signal.reason as Error), { once: true })
  return {
    get share() {
      return size === undefined ? undefined : Math.min(1, stream.bytesRead / Math.max(1, size))
    },
    async *content() {
      try {
        yield* inPieces(gzip ? decompressed(stream) : notCompressed(stream, name))
      } catch (error) {
        signal.throwIfAborted()
        throw fileFault(name, error)
      }
    },
    close() {
      stream.destroy()
    },
  }
}

interface Source {
  readonly stream: Readable & { readonly bytesRead: number }
  readonly size: number | undefined
}

async function openFile(path: string): Promise<Source> {
  try {
    const handle = await open(path)
    const stat = await handle.stat()
    if (stat.isDirectory()) {
      await handle.close()
      throw new OperatorError(`${path}: it is a folder`)
    }
    return { stream: handle.createReadStream({ highWaterMark: PIECE }), size: stat.isFile() ? stat.size : undefined }
  } catch (error) {
    throw fileFault(path, error)
  }
}

function standardInput(): Source {
  const stat = fstatSync(0)
  return { stream: process.stdin, size: stat.isFile() ? stat.size : undefined }
}

/** Decompresses a stream. The result throws the errors of the stream. */
const decompressed = (stream: Readable): AsyncIterable<Buffer> =>
  pipeline(stream, createGunzip({ chunkSize: PIECE }), () => {})

/** Passes the content on, and refuses gzip by its first two bytes (RFC 1952), with which no file of plants begins. */
async function* notCompressed(stream: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of stream) {
    if (isFirst && chunk[0] === 0x1f && (chunk.length === 1 || chunk[1] === 0x8b)) {
      throw new OperatorError(`${name}: it is a gzip file; add --gzip`)
    }
    isFirst = false
    yield chunk
  }
}

/** Joins the small chunks of pipes. */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    gathered.push(chunk)
    length += chunk.length
    if (length < PIECE) continue
    yield gathered.length === 1 ? chunk : Buffer.concat(gathered)
    gathered = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(gathered)
}
