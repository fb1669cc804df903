import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'

/** An npm package with Node.js for one system, as the lock file pins it. */
export interface RuntimePackage {
  readonly name: string
  readonly version: string
  /** `sha512-…` */
  readonly integrity: string
}

export interface Sources {
  /** Downloads a file of https://nodejs.org/dist/ by its path. */
  official(path: string): Promise<Buffer>
  /** Downloads the archive of the package from the registry. */
  packed(runtime: RuntimePackage): Promise<Buffer>
}

/**
 * Compares the program of the package with the one that the Node.js project publishes for that system.
 *
 * @returns undefined where they are the same, byte for byte
 */
export async function originFault(runtime: RuntimePackage, { official, packed }: Sources): Promise<string | undefined> {
  const system = /^node-(?:bin-)?(linux|darwin|win)-(x64|arm64)$/.exec(runtime.name)
  if (system === null) return 'has a name of no known system'
  const [, platform = '', arch = ''] = system
  const folder = `v${runtime.version}`
  const sums = (await official(`${folder}/SHASUMS256.txt`)).toString()
  const isWindows = platform === 'win'
  const file = isWindows ? `win-${arch}/node.exe` : `node-${folder}-${platform}-${arch}.tar.gz`
  const published = await official(`${folder}/${file}`)
  if (digest('sha256', published, 'hex') !== checksumOf(sums, file))
    return `${file} has another checksum than SHASUMS256.txt`
  const archive = await packed(runtime)
  if (`sha512-${digest('sha512', archive, 'base64')}` !== runtime.integrity) {
    return 'has another checksum in the registry than in package-lock.json'
  }
  const theirs = isWindows ? published : member(published, `node-${folder}-${platform}-${arch}/bin/node`)
  const ours = member(archive, `package/bin/${isWindows ? 'node.exe' : 'node'}`)
  if (theirs === undefined || ours === undefined) return 'has no program where one is expected'
  return ours.equals(theirs) ? undefined : `has another program than ${file}`
}

const digest = (algorithm: string, bytes: Buffer, encoding: 'hex' | 'base64'): string =>
  createHash(algorithm).update(bytes).digest(encoding)

function checksumOf(sums: string, file: string): string | undefined {
  const line = sums.split('\n').find((each) => each.endsWith(`  ${file}`))
  return line?.split(' ', 1)[0]
}

/** Reads a file of a gzipped tar archive; undefined when it has no such file. */
function member(archive: Buffer, path: string): Buffer | undefined {
  const { status, stdout } = spawnSync('tar', ['-xzOf', '-', path], { input: archive, maxBuffer: 2 ** 30 })
  return status === 0 && stdout.length > 0 ? stdout : undefined
}
