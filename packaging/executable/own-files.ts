import { getAsset, getAssetKeys } from 'node:sea'

// Takes the place of src/own-files.ts in the one-file program, whose modules have addresses below PROGRAM.

const PROGRAM = 'file:///plantstore/'

export const readOwnFile = (url: URL): Buffer => Buffer.from(getAsset(keyOf(url)))

export function ownFilesIn(folder: URL): string[] {
  const prefix = keyOf(folder)
  return getAssetKeys()
    .filter((key) => key.startsWith(prefix))
    .map((key) => key.slice(prefix.length))
}

const keyOf = (url: URL): string => url.href.slice(PROGRAM.length)
