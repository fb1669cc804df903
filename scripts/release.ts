// `npm run release`: makes all that a release consists of in dist/, and uploads it. `npm run release -- --dry-run` makes
// all of it and uploads nothing. What other systems have made for this version is in dist/ before, and goes along.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBundles } from './bundles.ts'
import { type LockedPackage, lockedPackages } from './lockfile.ts'
import { bundledPackages } from './package/dependencies.ts'
import { executable } from './package/executable.ts'
import { npmPackage } from './package/npm-package.ts'
import { manifest } from './package/program.ts'
import { tarball } from './package/tarball.ts'
import { ROOT } from './repository.ts'

const OUT = join(ROOT, 'dist')
const SUMS = 'SHA256SUMS'

const { 'dry-run': isDryRun } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } }).values
const { version } = manifest()
const faults = faultsOfVersion(version)
if (faults.length > 0) {
  for (const fault of faults) console.error(`release: ${fault}`)
  process.exitCode = 1
} else await release()

/** What speaks against a release of this version: it has one number everywhere, a date, and the tag of the commit. */
function faultsOfVersion(version: string): readonly string[] {
  const client = JSON.parse(readFileSync(join(ROOT, 'client/package.json'), 'utf8')) as { readonly version: string }
  const latest = /^## (.*)$/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))?.[1]
  const tag = process.env['GITHUB_REF_TYPE'] === 'tag' ? process.env['GITHUB_REF_NAME'] : undefined
  const found: string[] = []
  if (client.version !== version) found.push(`client/package.json has ${client.version}, package.json ${version}`)
  if (!new RegExp(`^${RegExp.escape(version)} - \\d{4}-\\d\\d-\\d\\d$`).test(latest ?? '')) {
    found.push(`CHANGELOG.md begins with "${latest}" in place of "${version} - YYYY-MM-DD"`)
  }
  if (tag !== undefined && tag !== `v${version}`) found.push(`the tag is ${tag} in place of v${version}`)
  if (tag === undefined && !isDryRun) found.push('only a workflow of a tag uploads; --dry-run makes everything else')
  return found
}

async function release(): Promise<void> {
  await makeBundles()
  mkdirSync(OUT, { recursive: true })
  const packages = [npmPackage(OUT), clientPackage()]
  await executable(OUT)
  if (process.platform === 'linux') tarball(OUT)
  writeBills()
  const names = writeSums()
  for (const name of names) console.log(name)
  for (const path of packages) {
    // Provenance needs the identity of a workflow, which a dry run has not.
    npm(OUT, 'publish', path, '--access', 'public', ...(isDryRun ? ['--dry-run'] : ['--provenance']))
  }
  const upload = ['release', 'create', `v${version}`, '--verify-tag', '--title', `Plantstore ${version}`]
  const files = [...names, SUMS].map((name) => join(OUT, name))
  if (isDryRun) console.log(`not done: gh ${upload.join(' ')}, with ${files.length} files`)
  else execFileSync('gh', [...upload, '--notes', notes(), ...files], { cwd: ROOT, stdio: 'inherit' })
}

function clientPackage(): string {
  npm(join(ROOT, 'client'), 'pack', '--silent', '--pack-destination', OUT)
  return join(OUT, `plantstore-client-${version}.tgz`)
}

/**
 * Writes a bill of materials for the program and one for the client, which contains nothing else: CycloneDX 1.6
 * (https://cyclonedx.org/docs/1.6/json/). `npm sbom --omit dev` leaves out what packages for development need too.
 */
function writeBills(): void {
  const packages = lockedPackages()
  const contained = bundledPackages().map((path) => component(path, packages[path]))
  writeBill('plantstore', [...contained, runtime()])
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

/** Node.js, which the archive and the executable contain. */
function runtime(): object {
  const version = process.versions.node
  return { type: 'platform', name: 'node', version, purl: `pkg:github/nodejs/node@v${version}` }
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

function npm(folder: string, ...args: readonly string[]): string {
  const isWindows = process.platform === 'win32'
  const { status, stdout, stderr } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    shell: isWindows,
    maxBuffer: 2 ** 26,
  })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed: ${stderr}`)
  return stdout
}
