import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../repository.ts'
import { manifest, writeProgram } from './program.ts'

/** Makes the npm package in an existing folder. @returns its path */
export function npmPackage(out: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-npm-'))
  try {
    writeProgram(folder)
    cpSync(join(ROOT, 'packaging/npm/README.md'), join(folder, 'README.md'))
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', out], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const { name, version } = manifest()
  return join(out, `${name}-${version}.tgz`)
}
