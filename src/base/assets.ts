import { readdirSync, readFileSync } from 'node:fs'

// Reads the files that the program brings along, such as its schema. The executable file contains them, and there
// packaging/executable/assets.ts replaces this module.

export const readAsset = (url: URL): Buffer => readFileSync(url)

export const assetsIn = (folder: URL): string[] => readdirSync(folder)
