import { createWriteStream, realpathSync, renameSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type Draft, makeDraft, syncDirectory } from '../base/new-file.ts'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { fileFault } from './file-fault.ts'
import { isSqliteFile } from './file-signature.ts'

/**
 * Writes everything that `source` yields, and resolves after the write.
 *
 * @returns false when the reader of standard output closed it early
 * @throws OperatorError when the write fails; the error of `source`; the reason of the signal
 */
export type Output = (source: AsyncIterable<Uint8Array>, signal: AbortSignal) => Promise<boolean>

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
