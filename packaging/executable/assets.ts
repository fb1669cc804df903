import { getAsset, getAssetKeys } from 'node:sea'

// Replaces src/base/assets.ts in the one-file program.

/** The prefix of the modules' URLs in the one-file program. */
const PROGRAM = 'file:///plantstore/'

export const readAsset = (url: URL): Buffer => Buffer.from(getAsset(keyOf(url)))

export function assetsIn(folder: URL): string[] {
  const prefix = keyOf(folder)
  return getAssetKeys()
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
}

const keyOf = (url: URL): string => url.href.slice(PROGRAM.length)
