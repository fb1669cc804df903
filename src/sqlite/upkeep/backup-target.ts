import { existsSync, lstatSync, realpathSync, statfsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { OperatorError } from '../../base/operator-error.ts'
import { isFileOfStore } from '../../base/store-path.ts'

/**
 * Returns the path of a new backup.
 *
 * @throws OperatorError (exit code 2) when the store can't be backed up there
 */
export function backupTarget(file: string, storePath: string): string {
  if (file === '-') throw usageError(file, 'a backup can not go to standard output; name a file')
  const folder = dirname(file)
  if (!existsSync(folder)) throw usageError(file, `the folder ${folder} does not exist; create it first`)
  if (!statSync(folder).isDirectory()) throw usageError(file, `${folder} is not a folder`)
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true) throw usageError(file, 'it is a symbolic link; name the file itself')
  if (stat?.isDirectory() === true) throw usageError(file, 'it is a folder; name a new file in it')
  const target = join(realpathSync(folder), basename(file))
  const store = join(realpathSync(dirname(storePath)), basename(storePath))
  if (target === store) throw usageError(file, 'it is the store itself; name a new file')
  if (isFileOfStore(target, store))
    throw usageError(file, 'the store uses this name for one of its own files; choose another one')
  if (stat !== undefined) throw usageError(file, 'it already exists; a backup replaces no file')
  return target
}

/**
 * Checks whether a copy fits on its disk. A copy that fails half-way would take the last space of a store on that disk.
 *
 * @throws OperatorError when the copy does not fit
 */
export function mustHaveRoom(target: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dirname(target))
  if (bavail * bsize >= bytes) return
  throw new OperatorError(
    `${target}: no space is left on the device: the copy takes ${mebibytes(bytes)}, and ${mebibytes(bavail * bsize)} are free`,
  )
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

const usageError = (file: string, why: string): OperatorError => new OperatorError(`${file}: ${why}`, { exitCode: 2 })
