import { getAsset, getAssetKeys } from 'node:sea'

// Replaces src/own-files.ts in the one-file program.

/** The prefix of the modules' URLs in the one-file program. */
const PROGRAM = 'file:///plantstore/'

export const readOwnFile = (url: URL): Buffer => Buffer.from(getAsset(keyOf(url)))

export function ownFilesIn(folder: URL): string[] {
  const prefix = keyOf(folder)
  return getAssetKeys()
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
}

const keyOf = (url: URL): string => url.href.slice(PROGRAM.length)
