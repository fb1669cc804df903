// Runs the files of the folder beside it in one process, which takes longer to start than most of them to run.
import { globSync } from 'node:fs'

const FOLDER = new URL('./pure/', import.meta.url)

for (const file of globSync('*.test.ts', { cwd: FOLDER }).sort()) await import(new URL(file, FOLDER).href)
