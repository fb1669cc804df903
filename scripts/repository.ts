import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the project. Every path is relative to it, with forward slashes. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url))

const EXCLUDED = ['node_modules', 'data', 'coverage', 'dist', '.git']

/** The files of the project that match the patterns, sorted. */
export function filesOf(...patterns: string[]): string[] {
  const found = globSync(patterns, { cwd: ROOT, exclude: (path) => EXCLUDED.includes(path) })
  return found.map((path) => path.replaceAll('\\', '/')).sort()
}

/** The flags of Node.js for the program, which every way to start it takes from there. */
export function programFlags(): readonly string[] {
  const text = readFileSync(join(ROOT, 'bin/plantstore.js'), 'utf8')
  return /^#!.* node (.*)/.exec(text)?.[1]?.split(' ') ?? []
}

/** Prints the faults, one per line, and sets the exit code; without faults, prints the summary. */
export function report(faults: readonly string[], summary: string): void {
  for (const fault of faults) console.error(fault)
  if (faults.length > 0) process.exitCode = 1
  else console.log(summary)
}
