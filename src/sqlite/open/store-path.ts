import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { OperatorError } from '../../operator-error.ts'

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
