import { readOwnFile } from '../own-files.ts'

/** The program's version is its package's. */
export function version(): string {
  const text = readOwnFile(new URL('../../package.json', import.meta.url)).toString()
  return (JSON.parse(text) as { version: string }).version
}
