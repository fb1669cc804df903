import {
  closeSync,
  createWriteStream,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  type Stats,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Readable, pipeline as withCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type Draft, makeDraft, syncDirectory } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'

/** A file to read once, from its start to its end. */
interface Input {
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
  withCallback(stream, createGunzip({ chunkSize: PIECE }), () => {})

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

/**
 * Writes everything that `source` yields, and resolves after the write.
 *
 * @returns false when the reader of standard output closed it early
 * @throws OperatorError when the write fails; the error of `source`; the reason of the signal
 */
type Output = (source: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<boolean>

/** Bytes in one write. */
const CHUNK = 2 ** 18

/**
 * Returns an output that writes a draft in the folder of `path`, and renames it once it is complete and on stable
 * storage. After a failure it removes the draft.
 *
 * @param force whether to replace an existing file, except a SQLite database
 * @throws OperatorError when the path has a file that must not be replaced, or is not a file
 */
export function outputFile(path: string, { force }: { force: boolean }): Output {
  const target = targetOf(path, force)
  return async (source, signal) => {
    let draft: Draft | undefined
    try {
      draft = makeDraft(target)
      // The stream would create a missing file even after an earlier failure, and leave the file behind.
      const writing = createWriteStream(draft.path, { flags: 'r+', flush: true, highWaterMark: CHUNK })
      await pipeline(source, writing, { signal })
      // Checks again, as another program may have created the file during a long export.
      renameSync(draft.path, targetOf(path, force))
      syncDirectory(dirname(target))
      return true
    } catch (error) {
      signal.throwIfAborted()
      throw fileFault(path, error)
    } finally {
      draft?.remove()
    }
  }
}

/** Writes to standard output. A reader that closes it early, such as `head`, is no failure. */
export const standardOutput: Output = async (source, signal) => {
  const { stdout } = process
  try {
    await pipeline(stdout.isTTY ? forTerminal(source) : source, stdout, { signal, end: false })
    return true
  } catch (error) {
    signal.throwIfAborted()
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw fileFault('standard output', error)
    return false
  }
}

/** Returns the file to replace: for a symbolic link its target, so that the link stays. */
function targetOf(path: string, force: boolean): string {
  const stat = statOf(path)
  if (stat === undefined) return path
  if (!stat.isFile()) throw new OperatorError(`${path}: is not a file; use - for standard output`)
  if (!force) throw new OperatorError(`${path}: already exists; --force replaces it`)
  if (isSqliteFile(path)) {
    throw new OperatorError(
      `${path}: is a SQLite database, such as a store; choose another file, or move it away first`,
    )
  }
  return realpathSync(path)
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw fileFault(path, error)
  }
}

async function* forTerminal(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of source) yield printable(decoder.decode(chunk, { stream: true }))
  yield printable(decoder.decode())
}

const SQLITE = Buffer.from('SQLite format 3\0')
/** The magic numbers of a write-ahead log, for both byte orders (https://sqlite.org/fileformat2.html#walformat). */
const LOGS: readonly number[] = [0x377f0682, 0x377f0683]

/** Whether a file is a SQLite database, such as a store or its search index, or a write-ahead log. */
function isSqliteFile(path: string): boolean {
  const bytes = firstBytes(path, SQLITE.length)
  return bytes.equals(SQLITE) || (bytes.length >= 4 && LOGS.includes(bytes.readUInt32BE()))
}

/** Whether a file has content that does not begin with a JSON object, so that it is no log of JSON lines. */
export function isNoJsonLog(path: string): boolean {
  const [first] = firstBytes(path, 1)
  return first !== undefined && first !== 0x7b
}

/** Returns the first bytes of a file; none when the path has no file that this process can read. */
function firstBytes(path: string, count: number): Buffer {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return Buffer.alloc(0)
    const file = openSync(path, 'r')
    try {
      const bytes = Buffer.alloc(count)
      return bytes.subarray(0, readSync(file, bytes, 0, count, 0))
    } finally {
      closeSync(file)
    }
  } catch {
    return Buffer.alloc(0)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links form a loop',
  ENOSPC: 'no space is left on the device',
  EDQUOT: "the user's disk quota is used up",
  EFBIG: 'the file would exceed the allowed size',
  ENAMETOOLONG: 'the name is too long',
  EMFILE: 'too many files are open',
  ENXIO: 'it is a pipe without a reader, or the device is absent',
  EIO: 'the device reports an I/O error',
  Z_DATA_ERROR: 'it is not a gzip file, or it is damaged',
  Z_BUF_ERROR: 'the gzip file is truncated',
}

/** Returns an OperatorError of one line for an error of the file system or of gzip, and other errors unchanged. */
export function fileFault(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? error : new OperatorError(`${path}: ${reason}`, { cause: error })
}
