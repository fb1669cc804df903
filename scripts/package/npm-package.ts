import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { aboutProject, manifest, pack } from './pack.ts'
import { publishedManifest, writeProgram } from './program.ts'

/** Makes the npm package of the program in an existing folder. @returns its path */
export function npmPackage(out: string): string {
  return packed((folder) => {
    writeProgram(folder)
    cpSync(join(ROOT, 'packaging/npm/README.md'), join(folder, 'README.md'))
    return pack(folder, publishedManifest(), out)
  })
}

/** Makes the npm package of the client, with its types, in an existing folder. @returns its path */
export function clientPackage(out: string): string {
  return packed((folder) => {
    for (const path of ['README.md', 'LICENSE']) cpSync(join(ROOT, 'client', path), join(folder, path))
    mkdirSync(join(folder, 'dist'))
    const module = 'dist/plantstore-client.js'
    cpSync(join(ROOT, 'client', module), join(folder, module))
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [tsc, '-p', 'client/tsconfig.types.json', '--outDir', join(folder, 'dist/types')], {
      cwd: ROOT,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    // The folder of the sources is private: a package of it would have no types.
    return pack(folder, { ...manifest('client'), private: undefined, ...aboutProject('client') }, out)
  })
}

/** Makes a package in a temporary folder. */
function packed(make: (folder: string) => string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-npm-'))
  try {
    return make(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
