import { readAsset } from '../base/assets.ts'

/** Returns the version of the package. */
export function version(): string {
  const text = readAsset(new URL('../../package.json', import.meta.url)).toString()
  return (JSON.parse(text) as { version: string }).version
}
