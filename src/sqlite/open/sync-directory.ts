import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes the names of new files in a directory durable, by an fsync of the directory. Windows has no such call. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
