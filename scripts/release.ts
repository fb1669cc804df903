// `npm run release` makes all that a release consists of in dist/, and uploads it as a draft. What other systems have
// made for this version is in dist/ before, and goes along. `npm run release -- --publish` publishes the packages, then
// the draft. Each may run again after a failure. With --dry-run, either uploads nothing. See docs/releasing.md.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBundles } from './bundles.ts'
import { type LockedPackage, lockedPackages } from './lockfile.ts'
import { bundledPackages } from './package/dependencies.ts'
import { executable } from './package/executable.ts'
import { clientPackage, npmPackage } from './package/npm-package.ts'
import { manifest, repositoryUrl, workflowRepository } from './package/pack.ts'
import { VERSION } from './package/runtime.ts'
import { tarball } from './package/tarball.ts'
import { ROOT } from './repository.ts'

const OUT = join(ROOT, 'dist')
const SUMS = 'SHA256SUMS'

const { 'dry-run': isDryRun, publish: isSecondStep } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false }, publish: { type: 'boolean', default: false } },
}).values
const { version } = manifest()
const TAG = `v${version}`
const PACKAGES = ['plantstore-client', 'plantstore']

const faults = faultsOfVersion(version)
if (faults.length > 0) {
  for (const fault of faults) console.error(`release: ${fault}`)
  process.exitCode = 1
} else if (isSecondStep) publish()
else await draft()

/** What speaks against a release of this version: it has one number everywhere, a date, and the tag of the commit. */
function faultsOfVersion(version: string): readonly string[] {
  const client = manifest('client')
  const latest = /^## (.*)$/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))?.[1]
  const tag = process.env['GITHUB_REF_TYPE'] === 'tag' ? process.env['GITHUB_REF_NAME'] : undefined
  const found: string[] = []
  if (client.version !== version) found.push(`client/package.json has ${client.version}, package.json ${version}`)
  if (!new RegExp(`^${RegExp.escape(version)} - \\d{4}-\\d\\d-\\d\\d$`).test(latest ?? '')) {
    found.push(`CHANGELOG.md begins with "${latest}" in place of "${version} - YYYY-MM-DD"`)
  }
  if (tag !== undefined && tag !== TAG) found.push(`the tag is ${tag} in place of ${TAG}`)
  if (tag === undefined && !isDryRun) found.push('only a workflow of a tag uploads; --dry-run makes everything else')
  const [url, here] = [repositoryUrl(), workflowRepository()]
  if (here !== undefined && url !== here) {
    found.push(`package.json names the repository ${url}, and this workflow runs in ${here}`)
  }
  return found
}

/** Makes everything, and a draft of the release with it, which nobody else sees. */
async function draft(): Promise<void> {
  await makeBundles()
  mkdirSync(OUT, { recursive: true })
  npmPackage(OUT)
  clientPackage(OUT)
  await executable(OUT)
  if (process.platform === 'linux') tarball(OUT)
  writeBills()
  const names = writeSums()
  for (const name of names) console.log(name)
  const files = [...names, SUMS].map((name) => join(OUT, name))
  const create = ['release', 'create', TAG, '--draft', '--verify-tag', '--title', `Plantstore ${version}`]
  if (isDryRun) console.log(`not done: gh ${create.join(' ')}, with ${files.length} files`)
  else {
    const state = stateOfRelease()
    if (state === 'none') gh(...create, '--notes', notes(), ...files)
    if (state === 'draft') gh('release', 'upload', TAG, '--clobber', ...files)
    if (state === 'public') console.log(`the release ${TAG} is published already; its files stay`)
  }
}

/** Publishes what a draft made in dist/: first the packages, of which npm takes none back, then the draft. */
function publish(): void {
  for (const name of PACKAGES) publishPackage(name)
  if (isDryRun) console.log(`not done: gh release edit ${TAG} --draft=false`)
  else gh('release', 'edit', TAG, '--draft=false')
}

function stateOfRelease(): 'none' | 'draft' | 'public' {
  const options = { cwd: ROOT, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync('gh', ['release', 'view', TAG, '--json', 'isDraft'], options)
  if (status === 0) return (JSON.parse(stdout) as { readonly isDraft: boolean }).isDraft ? 'draft' : 'public'
  if (/release not found/.test(stderr)) return 'none'
  throw new Error(`gh release view ${TAG} failed: ${stderr}`)
}

function gh(...args: readonly string[]): void {
  execFileSync('gh', args, { cwd: ROOT, stdio: 'inherit' })
}

/**
 * Publishes an archive in dist/, by the identity of the workflow and with provenance. One that an earlier run has
 * published stays: npm takes no version twice.
 */
function publishPackage(name: string): void {
  const path = join(OUT, `${name}-${version}.tgz`)
  const there = publishedIntegrity(name)
  if (there === undefined) npm('publish', path, '--access', 'public', ...(isDryRun ? ['--dry-run'] : []))
  else if (there === integrityOf(path)) console.log(`${name} ${version} is published already, with the same content`)
  else throw new Error(`npm has another ${name} ${version}, with ${there}; give the release the next number`)
}

/** @returns the hash of the content of this version, or `undefined` if the registry has no such version */
function publishedIntegrity(name: string): string | undefined {
  const { status, stdout } = spawnNpm('view', `${name}@${version}`, 'dist.integrity', '--json')
  const answer =
    stdout === '' ? undefined : (JSON.parse(stdout) as string | { readonly error: { readonly code: string } })
  if (typeof answer === 'string') return answer
  if (answer === undefined && status === 0) return undefined
  if (answer?.error.code === 'E404') return undefined
  throw new Error(`npm view ${name}@${version} failed: ${stdout}`)
}

function integrityOf(path: string): string {
  return `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`
}

/**
 * Writes a bill of materials for the program and one for the client, which contains nothing else: CycloneDX 1.6
 * (https://cyclonedx.org/docs/1.6/json/). `npm sbom --omit dev` leaves out what packages for development need too.
 */
function writeBills(): void {
  const packages = lockedPackages()
  const contained = bundledPackages().map((path) => component(path, packages[path]))
  const runtimes = [...new Set([process.versions.node, VERSION])].map(runtime)
  writeBill('plantstore', [...contained, ...runtimes, LIBATOMIC])
  writeBill('plantstore-client', [])
}

function writeBill(name: string, components: readonly object[]): void {
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${randomUUID()}`,
    version: 1,
    metadata: {
      timestamp: new Date().toISOString(),
      component: { type: 'application', name, version, purl: `pkg:npm/${name}@${version}` },
    },
    components,
  }
  writeFileSync(join(OUT, `${name}-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`)
}

/** @param path its folder, such as node_modules/pg */
function component(path: string, locked: LockedPackage | undefined): object {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const { version = '', license = '', integrity = '' } = locked ?? {}
  const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: 'SHA-512', content }],
    licenses: [{ license: { id: license } }],
  }
}

/** Node.js, which the executable contains, or the archive. */
function runtime(version: string): object {
  return { type: 'platform', name: 'node', version, purl: `pkg:github/nodejs/node@v${version}` }
}

/** What the archive has beside its Node.js. */
const LIBATOMIC = {
  type: 'library',
  name: 'libatomic',
  licenses: [{ expression: 'GPL-3.0-or-later WITH GCC-exception-3.1' }],
}

/** Writes the sums of all files of this version. @returns their names */
function writeSums(): readonly string[] {
  const isOfVersion = (name: string) => name.includes(`-${version}`)
  const names = readdirSync(OUT).filter(isOfVersion).sort()
  const lines = names.map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(OUT, name)))
      .digest('hex')
    return `${sum}  ${name}\n`
  })
  writeFileSync(join(OUT, SUMS), lines.join(''))
  return names
}

/** The changes of this version. */
function notes(): string {
  const [, latest = ''] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## .*$/m)
  return latest.trim()
}

function npm(...args: readonly string[]): void {
  const { status, stderr } = spawnNpm(...args)
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed: ${stderr}`)
}

function spawnNpm(...args: readonly string[]) {
  return spawnSync('npm', args, { cwd: OUT, encoding: 'utf8', shell: process.platform === 'win32' })
}
