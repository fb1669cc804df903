// `npm run check:runtime`: compares each Node.js that the project pins from npm, that of the archive included, with the
// one that the Node.js project publishes. It downloads half a gigabyte, so `npm run check` leaves it out, and CI runs it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lockedPackages } from './lockfile.ts'
import { RUNTIMES } from './package/runtime.ts'
import { ROOT, report } from './repository.ts'
import { originFault, type RuntimePackage, type Sources } from './runtime-origin.ts'

const OFFICIAL = 'https://nodejs.org/dist/'

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  optionalDependencies: Readonly<Record<string, string>>
}
const packages = lockedPackages()
const folder = mkdtempSync(join(tmpdir(), 'plantstore-runtime-'))
const sources: Sources = {
  async official(path) {
    const response = await fetch(OFFICIAL + path)
    if (!response.ok) throw new Error(`${OFFICIAL}${path} answers ${response.status}`)
    return Buffer.from(await response.arrayBuffer())
  },
  async packed({ name, version }) {
    execFileSync('npm', ['pack', '--silent', '--pack-destination', folder, `${name}@${version}`], { cwd: folder })
    return readFileSync(join(folder, `${name}-${version}.tgz`))
  },
}
try {
  const faults: string[] = []
  for (const runtime of [...Object.keys(manifest.optionalDependencies).map(pinned), ...RUNTIMES]) {
    const id = `${runtime.name} ${runtime.version}`
    const fault = await originFault(runtime, sources)
    console.log(`${id}: ${fault ?? 'the same program as the official one'}`)
    if (fault !== undefined) faults.push(`${id} ${fault}`)
  }
  report(faults, 'all of them are what the Node.js project publishes')
} finally {
  rmSync(folder, { recursive: true, force: true })
}

function pinned(name: string): RuntimePackage {
  const { version = '', integrity = '' } = packages[`node_modules/${name}`] ?? {}
  return { name, version, integrity }
}
