import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { ROOT } from './repository.ts'

/** A package of package-lock.json. */
export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly hasInstallScript?: boolean
  readonly dev?: boolean
  readonly optional?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** By the folders of the packages, such as `node_modules/pg`; the project itself has an empty one. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>

export function lockedPackages(): LockedPackages {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: LockedPackages }
  return lock.packages
}

/** Finds a package as Node.js does: in the node_modules of the package that needs it, or of a folder around it. */
export function locate(packages: LockedPackages, from: string, name: string): string | undefined {
  for (let base = from; ; base = base.slice(0, Math.max(0, base.lastIndexOf('node_modules/') - 1))) {
    const path = posix.join(base, 'node_modules', name)
    if (path in packages) return path
    if (base === '') return undefined
  }
}
