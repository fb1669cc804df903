import { randomBytes } from 'node:crypto'
import { closeSync, createWriteStream, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../operator-error.ts'
import { printable } from '../printable.ts'
import { fileFault } from './file-fault.ts'
import { isSqliteFile } from './first-bytes.ts'

/**
 * Writes everything that `source` yields, and resolves after the write.
 *
 * @returns false when the reader of standard output left early
 * @throws OperatorError when the write fails; what `source` throws; the reason of the signal
 */
export type Output = (source: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<boolean>

/** Bytes of one write. */
const CHUNK = 2 ** 18

/**
 * A file that gets its name only when it is complete and on stable storage. Until then it has another name in the same
 * folder, and a failure leaves nothing of it.
 *
 * @param path an existing file is replaced only with `force`
 * @throws OperatorError when the path is no file, or one that must not be replaced: never a database, even with `force`
 */
export function outputFile(path: string, { force }: { force: boolean }): Output {
  const target = targetOf(path, force)
  return async (source, signal) => {
    const draft = `${target}.new-${process.pid}-${randomBytes(4).toString('hex')}`
    const remove = () => rmSync(draft, { force: true })
    // A second signal ends the process at once.
    process.once('exit', remove)
    try {
      // Opens the file itself: the stream would open it even after an earlier failure, and leave it behind.
      // Only its owner may read it, as only its owner may read the store.
      const fd = openSync(draft, 'wx', 0o600)
      await pipeline(source, createWriteStream(draft, { fd, flush: true, highWaterMark: CHUNK }), { signal })
      // The path may have changed in the hours since the first check.
      renameSync(draft, targetOf(path, force))
      syncDirectory(dirname(target))
      return true
    } catch (error) {
      signal.throwIfAborted()
      throw fileFault(path, error)
    } finally {
      remove()
      process.off('exit', remove)
    }
  }
}

/** A reader that leaves early, such as `head`, is no failure. */
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

/** The file to write: for a link, its target. The link stays. */
function targetOf(path: string, force: boolean): string {
  const stat = statSync(path, { throwIfNoEntry: false })
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

/** A new name in a directory is on stable storage only after the directory's own fsync. Windows has none. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}

async function* forTerminal(source: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of source) yield printable(decoder.decode(chunk, { stream: true }))
  yield printable(decoder.decode())
}
