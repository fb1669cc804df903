import { randomBytes } from 'node:crypto'
import { closeSync, createWriteStream, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { OperatorError } from '../operator-error.ts'
import { printable } from '../printable.ts'
import { fileFault } from './file-fault.ts'

/**
 * Writes everything that `source` yields, and resolves after the write.
 *
 * @returns false when the reader of standard output left early
 * @throws OperatorError when the write fails; what `source` throws; the reason of the signal
 */
export type Output = (source: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<boolean>

/** Bytes that are written at once. */
const CHUNK = 2 ** 18

/**
 * A file that gets its name only when it is complete and on stable storage: until then it is written beside it under
 * another name, and after a failure nothing is left of it.
 *
 * @param path a file that is there is replaced only with `force`
 * @throws OperatorError when there is a file that must not be replaced, or something that is no file
 */
export function outputFile(path: string, { force }: { force: boolean }): Output {
  const target = targetOf(path, force)
  return async (source, signal) => {
    const draft = `${target}.new-${process.pid}-${randomBytes(4).toString('hex')}`
    const remove = () => rmSync(draft, { force: true })
    // For a second signal, which ends the process at once.
    process.once('exit', remove)
    try {
      // Opened here, since the stream would still open it after a failure that came first, and leave it behind.
      // For its owner alone, as the store is whose plants it holds.
      const fd = openSync(draft, 'wx', 0o600)
      await pipeline(source, createWriteStream(draft, { fd, flush: true, highWaterMark: CHUNK }), { signal })
      // Looked at again: this may be hours later.
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

/** The file that is written: the target of a link, which stays. */
function targetOf(path: string, force: boolean): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return path
  if (!stat.isFile()) throw new OperatorError(`${path}: is not a file; use - for standard output`)
  if (!force) throw new OperatorError(`${path}: already exists; --force replaces it`)
  return realpathSync(path)
}

/** A new name in a directory is on stable storage only after the directory's own fsync; Windows knows no such thing. */
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
