import { fstatSync } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { OperatorError } from '../operator-error.ts'
import { fileFault } from './file-fault.ts'

/** A file that is read from its start to its end, once. */
export interface Input {
  /** How much of it was read, from 0 to 1; undefined for what is no file and has no size. */
  readonly share: number | undefined
  /**
   * The content, unpacked.
   *
   * @throws OperatorError when it can't be read or unpacked
   */
  content(): AsyncGenerator<Buffer>
}

/** Bytes that are read at once. */
const CHUNK = 2 ** 18

/**
 * Opens a file, or standard input for `-`.
 *
 * @param signal ends the reading, also where it waits; its reason is thrown then
 * @throws OperatorError when there is no such file, or it may not be read
 */
export async function openInput(file: string, gzip: boolean, signal: AbortSignal): Promise<Input> {
  const { stream, size } = file === '-' ? standardInput() : await openFile(file)
  signal.addEventListener('abort', () => stream.destroy(signal.reason as Error), { once: true })
  return {
    get share() {
      return size === undefined ? undefined : Math.min(1, stream.bytesRead / Math.max(1, size))
    },
    async *content() {
      try {
        // Its own errors end the unpacking, and are thrown there.
        const unpacked = gzip ? pipeline(stream, createGunzip({ chunkSize: CHUNK }), () => {}) : stream
        let isFirst = !gzip
        for await (const chunk of unpacked as AsyncIterable<Buffer>) {
          if (isFirst) mustNotBePacked(file, chunk)
          isFirst = false
          yield chunk
        }
      } catch (error) {
        signal.throwIfAborted()
        throw fileFault(file === '-' ? 'standard input' : file, error)
      }
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
    return { stream: handle.createReadStream({ highWaterMark: CHUNK }), size: stat.isFile() ? stat.size : undefined }
  } catch (error) {
    throw fileFault(path, error)
  }
}

function standardInput(): Source {
  const stat = fstatSync(0)
  return { stream: process.stdin, size: stat.isFile() ? stat.size : undefined }
}

/** Every gzip file begins with these two bytes (RFC 1952), and no file of plants does. */
function mustNotBePacked(file: string, chunk: Uint8Array): void {
  if (chunk[0] !== 0x1f || chunk[1] !== 0x8b) return
  throw new OperatorError(`${file === '-' ? 'standard input' : file}: is packed by gzip; say so with --gzip`)
}
