import { readdirSync, readFileSync } from 'node:fs'

// Files of the program that it reads, such as its schema. Where the whole program is one file, they are inside it, and
// packaging/executable/own-files.ts takes the place of this module.

export const readOwnFile = (url: URL): Buffer => readFileSync(url)

/** The names of the files in a folder. */
export const ownFilesIn = (folder: URL): string[] => readdirSync(folder)
