import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { DRAFT_SUFFIX } from './new-file.ts'
import { OperatorError } from './operator-error.ts'

/** The number of links that Linux follows. */
const MAX_LINKS = 40

/**
 * The path that symbolic links lead to, which need not exist. All files of a store lie beside it, whichever link opens
 * the store.
 *
 * @throws OperatorError when the links form a loop
 */
export function storePath(path: string): string {
  let target = path
  for (let links = 0; lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true; links++) {
    if (links === MAX_LINKS) throw new OperatorError(`store ${path}: its symbolic links form a loop`)
    target = resolve(realpathSync(dirname(target)), readlinkSync(target))
  }
  return target
}

/** The suffixes of the files beside a store. */
const SUFFIXES = ['-wal', '-shm', '-journal', '.lock', '.reserve', '.first-token', '-index', '-index-wal', '-index-shm']

/**
 * Whether a path leads to a store or to a file beside it. Neither need exist. False for a path that cannot be followed,
 * so that the attempt to open it tells the reason.
 */
export function isFileOfStore(path: string, store: string): boolean {
  const [file, own] = [wholePath(path), wholePath(store)]
  return file === own || SUFFIXES.some((suffix) => file === own + suffix) || file.startsWith(own + DRAFT_SUFFIX)
}

function wholePath(path: string): string {
  try {
    const target = storePath(path)
    return join(realpathSync(dirname(target)), basename(target))
  } catch {
    return resolve(path)
  }
}
