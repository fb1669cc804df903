import { closeSync, fsyncSync, openSync } from 'node:fs'

/** A new name in a directory is on stable storage only after the directory's own fsync; Windows knows no such thing. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
