import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { RuntimePackage } from '../runtime-origin.ts'

/** The Node.js of the image and, from npm, of the archive, with the checksums of its packages. */
export const VERSION = '26.10.0'
const INTEGRITY: Readonly<Record<string, string>> = {
  x64: 'sha512-OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  arm64: 'sha512-idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
}

export const RUNTIMES: readonly RuntimePackage[] = Object.entries(INTEGRITY).map(([arch, integrity]) => ({
  name: `node-linux-${arch}`,
  version: VERSION,
  integrity,
}))

/**
 * Writes Node.js for the Linux of this machine into a folder: `node`, and in `lib` the library that it needs and bare
 * Debian and Ubuntu lack (https://github.com/nodejs/node/issues/60790). That one comes from the package of the system,
 * whose checksum and signature apt checks.
 */
export function writeRuntime(folder: string): void {
  const work = mkdtempSync(join(tmpdir(), 'plantstore-runtime-'))
  try {
    mkdirSync(join(folder, 'lib'), { recursive: true })
    const unpacked = unpackedNode(work)
    copyFileSync(join(unpacked, 'bin/node'), join(folder, 'node'))
    chmodSync(join(folder, 'node'), 0o755)
    copyFileSync(join(unpacked, 'LICENSE'), join(folder, 'LICENSE'))
    writeLibrary(work, join(folder, 'lib'))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** Downloads Node.js from npm, unless its checksum is another one. @returns its folder */
function unpackedNode(work: string): string {
  const runtime = RUNTIMES.find(({ name }) => name === `node-linux-${process.arch}`)
  if (runtime === undefined) throw new Error(`there is no Node.js ${VERSION} for ${process.arch}`)
  const id = `${runtime.name}@${runtime.version}`
  execFileSync('npm', ['pack', '--silent', id], { cwd: work, stdio: ['ignore', 'ignore', 'inherit'] })
  const archive = join(work, `${runtime.name}-${runtime.version}.tgz`)
  const sum = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (`sha512-${sum}` !== runtime.integrity)
    throw new Error(`${id} has another checksum than scripts/package/runtime.ts`)
  execFileSync('tar', ['-xzf', archive, '-C', work, '--no-same-owner'])
  return join(work, 'package')
}

/** Downloads libatomic of Debian or Ubuntu, and says beside it where it is from. */
function writeLibrary(work: string, folder: string): void {
  execFileSync('apt-get', ['download', '-qq', 'libatomic1'], { cwd: work, stdio: ['ignore', 'ignore', 'pipe'] })
  const [name = ''] = globSync('libatomic1_*.deb', { cwd: work })
  execFileSync('dpkg-deb', ['--extract', name, 'unpacked'], { cwd: work })
  const [library = ''] = globSync('unpacked/usr/lib/*/libatomic.so.1.*', { cwd: work })
  cpSync(join(work, library), join(folder, 'libatomic.so.1'))
  const sum = createHash('sha256')
    .update(readFileSync(join(work, name)))
    .digest('hex')
  const field = (field: string) =>
    execFileSync('dpkg-deb', ['--field', name, field], { cwd: work, encoding: 'utf8' }).trim()
  const source = field('Source') || 'libatomic1'
  writeFileSync(
    join(folder, 'README'),
    `libatomic.so.1 is a part of GCC, unchanged from ${decodeURIComponent(name)} (SHA-256 ${sum}).
Its license is the GPL, version 3 or later, with the GCC Runtime Library Exception, version 3.1:
https://www.gnu.org/licenses/gcc-exception-3.1.html. Its source is the package ${source} of Debian or Ubuntu.
bin/plantstore names this folder to Node.js only where the system has no libatomic.so.1.
`,
  )
}
