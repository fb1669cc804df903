import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** The part after the final name in the name of a draft. */
export const DRAFT_SUFFIX = '.new-'

/** Returns a unique path in the folder of `path` for a draft, which gets the name `path` once it is complete. */
export const draftPath = (path: string): string =>
  `${path}${DRAFT_SUFFIX}${process.pid}-${randomBytes(4).toString('hex')}`

/** Makes the names of new files in a directory durable, by an fsync of the directory. Windows has no such call. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
