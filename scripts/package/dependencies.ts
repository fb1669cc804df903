import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { ROOT } from '../repository.ts'

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/**
 * The folders of the packages that the program imports and of those that they need, relative to the root of the project.
 * Node.js itself, which the project has as a package for development, is not among them.
 */
export function bundledPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>
  }
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

/** Finds a package as Node.js does: in the node_modules of the package that needs it, or of a folder around it. */
function locate(packages: Readonly<Record<string, Locked>>, from: string, name: string): string | undefined {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('node_modules/') - 1))) {
    const path = posix.join(base, 'node_modules', name)
    if (path in packages) return path
    if (base === '') return undefined
  }
}
