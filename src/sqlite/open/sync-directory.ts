import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Makes new names in a directory durable, which takes an fsync of the directory. Windows has no such call. */
export function syncDirectory(directory: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(directory, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
