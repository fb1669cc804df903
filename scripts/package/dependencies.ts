import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { locate, lockedPackages } from '../lockfile.ts'
import { ROOT } from '../repository.ts'

/**
 * The folders of the packages that the program imports and of those that they need, relative to the root of the
 * project. Node.js itself, which the project has as a package for development, is not among them.
 */
export function bundledPackages(): string[] {
  const packages = lockedPackages()
  const found = new Set<string>()
  const add = (from: string, names: readonly string[]): void => {
    for (const name of names) {
      const path = locate(packages, from, name)
      // npm does not install an optional package that does not fit the system.
      if (path === undefined || found.has(path) || !existsSync(join(ROOT, path))) continue
      found.add(path)
      add(path, Object.keys({ ...packages[path]?.dependencies, ...packages[path]?.optionalDependencies }))
    }
  }
  add('', Object.keys(packages['']?.dependencies ?? {}))
  return [...found].sort()
}
