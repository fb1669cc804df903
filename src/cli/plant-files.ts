import {
  createReadStream,
  createWriteStream,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { pipeline as withCallback } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { makeDraft, syncDirectory, withOpen } from '../base/files.ts'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { type Format, formatOf } from '../import/format.ts'

export interface KindFlags {
  readonly format?: Format
  readonly gzip?: true
}

/** Names of sheets, which an import reads besides files of plants, or says how to save. */
export const SHEET = /\.(?:tsv|tab|txt|xlsx|xlsm|ods|fods|xls|xlsb|numbers)(?:\.gz)?$/i

/**
 * Returns the format of a file, or of standard input or output for `-`, and whether it is compressed, by the flags or
 * else by the name. A sheet is CSV.
 *
 * @param sheets the names of sheets that the command takes
 */
export function fileKind(
  file: string,
  flags: KindFlags,
  sheets?: RegExp,
): { readonly format: Format; readonly gzip: boolean } {
  const format = flags.format ?? formatOf(file) ?? (sheets?.test(file) === true ? 'csv' : undefined)
  if (format !== undefined) return { format, gzip: flags.gzip ?? file.toLowerCase().endsWith('.gz') }
  const reason =
    file === '-'
      ? '- has no file name to derive the format from'
      : `${file}: its name does not end like plants.csv or plants.ndjson`
  throw new OperatorError(`${reason}; add --format ndjson or --format csv`, { exitCode: 2 })
}

/** A file to read once, from its start to its end. */
interface Input extends Disposable {
  /** The share read so far, from 0 to 1; undefined for a pipe or device, which has no size. */
  readonly share: number | undefined
  /** Yields the decompressed content. @param stop ends the read, which then throws the signal's reason */
  content(stop: AbortSignal): AsyncGenerator<Buffer>
}

/** Bytes in one piece. The rows of a piece share a commit or a request. */
const PIECE = 2 ** 18

export function openInput(file: string, gzip: boolean): Input {
  const isStandard = file === '-'
  const name = isStandard ? 'standard input' : file
  const fd = isStandard ? 0 : onFile(file, () => openSync(file, 'r'))
  const stat = fstatSync(fd)
  if (stat.isDirectory()) throw new OperatorError(`${name}: it is a folder`)
  const stream = isStandard ? process.stdin : createReadStream(file, { fd, highWaterMark: PIECE })
  // `content` throws the error. Without a listener, an error before the first read would end the process.
  stream.on('error', () => {})
  return {
    get share() {
      return stat.isFile() ? Math.min(1, stream.bytesRead / Math.max(1, stat.size)) : undefined
    },
    async *content(stop) {
      stop.addEventListener('abort', () => stream.destroy(stop.reason as Error), { once: true })
      try {
        stop.throwIfAborted()
        // The result of `withCallback` throws the errors of the stream.
        const unpacked = gzip ? withCallback(stream, createGunzip({ chunkSize: PIECE }), () => {}) : stream
        yield* inPieces(unpacked, gzip ? '' : `${name}: it is a gzip file; add --gzip`)
      } catch (error) {
        stop.throwIfAborted()
        throw fileFault(name, error)
      }
    },
    [Symbol.dispose]() {
      stream.destroy()
    },
  }
}

/**
 * Joins the small chunks of pipes.
 *
 * @param ofGzip the fault of a file that begins like gzip (RFC 1952), as no file of plants does; empty to accept it
 */
async function* inPieces(chunks: AsyncIterable<Buffer>, ofGzip: string): AsyncGenerator<Buffer> {
  let gathered: Buffer[] = []
  let length = 0
  let isFirst = ofGzip !== ''
  for await (const chunk of chunks) {
    if (isFirst && chunk[0] === 0x1f && (chunk.length === 1 || chunk[1] === 0x8b)) throw new OperatorError(ofGzip)
    isFirst = false
    gathered.push(chunk)
    length += chunk.length
    if (length < PIECE) continue
    yield gathered.length === 1 ? chunk : Buffer.concat(gathered)
    gathered = []
    length = 0
  }
  if (length > 0) yield Buffer.concat(gathered)
}

export async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  for await (const text of texts) yield Buffer.from(text)
}

/** Writes everything that `source` yields. Resolves with false when the reader of standard output closed it early. */
type Output = (source: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<boolean>

/** Bytes in one write. */
const CHUNK = 2 ** 18

/**
 * Returns an output that writes a draft in the folder of `path`, and renames it once it is complete and on stable
 * storage. After a failure it removes the draft.
 *
 * @param force whether to replace an existing file, except a SQLite database
 */
export function outputFile(path: string, force: boolean): Output {
  const target = targetOf(path, force)
  return async (source, signal) => {
    try {
      using draft = makeDraft(target)
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
    }
  }
}

/** Writes to standard output. A reader that closes it early, such as `head`, gets no message of a failure. */
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
  const stat = onFile(path, () => statSync(path, { throwIfNoEntry: false }))
  if (stat === undefined) return path
  if (!stat.isFile()) throw new OperatorError(`${path}: is not a file; use - for standard output`)
  if (!force) throw new OperatorError(`${path}: already exists; --force replaces it`)
  if (isSqliteFile(path)) {
    const cure = 'choose another file, or move it away first'
    throw new OperatorError(`${path}: is a SQLite database, such as a store; ${cure}`)
  }
  return realpathSync(path)
}

async function* forTerminal(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of source) yield printable(decoder.decode(chunk, { stream: true }))
  yield printable(decoder.decode())
}

/** How a database begins, and a write-ahead log in either byte order (https://sqlite.org/fileformat2.html#walformat). */
const SQLITE_STARTS: readonly string[] = ['SQLite format 3\0', '7\x7f\x06\x82', '7\x7f\x06\x83']

/** Whether a file belongs to a SQLite database, such as a store or its search index. */
const isSqliteFile = (path: string): boolean => SQLITE_STARTS.some((start) => startOf(path).startsWith(start))

/** Whether a file has content that does not begin with a JSON object, so that it is no log of JSON lines. */
export const isNoJsonLog = (path: string): boolean => /^[^{]/.test(startOf(path))

/** Returns the first 16 bytes of a file as characters; none when the path has no file that this process can read. */
function startOf(path: string): string {
  try {
    // Opening a pipe would wait for its writer.
    if (!statSync(path).isFile()) return ''
    const bytes = Buffer.alloc(16)
    return withOpen(path, 'r', (file) => bytes.toString('latin1', 0, readSync(file, bytes)))
  } catch {
    return ''
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

/** Runs a step on a file. @throws what fileFault makes of its error */
export function onFile<T>(path: string, step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw fileFault(path, error)
  }
}

/** Returns an OperatorError of one line for an error of the file system or of gzip, and other errors unchanged. */
export function fileFault(path: string, error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const reason = REASONS[code]
  return reason === undefined ? error : new OperatorError(`${path}: ${reason}`, { cause: error })
}
