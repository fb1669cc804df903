import { lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { OperatorError } from '../../operator-error.ts'

/** As many as Linux follows. */
const MOST_LINKS = 40

/**
 * Where the store really is: what symbolic links lead to, also when there is no file yet. Whatever belongs to the store lies
 * beside that place, whichever link it was opened by.
 *
 * @throws OperatorError when the links have no end
 */
export function storePath(path: string): string {
  let target = path
  for (let links = 0; lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true; links++) {
    if (links === MOST_LINKS) throw new OperatorError(`store ${path}: its symbolic links form a loop`)
    target = resolve(realpathSync(dirname(target)), readlinkSync(target))
  }
  return target
}
