import { readOwnFile } from '../own-files.ts'

/** Returns the version of the package. */
export function version(): string {
  const text = readOwnFile(new URL('../../package.json', import.meta.url)).toString()
  return (JSON.parse(text) as { version: string }).version
}
