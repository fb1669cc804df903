import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './repository.ts'

/** The oldest that the README names, with the npm that comes with it. */
const NODE = '20'
const NPM = '10'
/** In the root: what npm trusts, where the npm of this machine is told to trust it. */
const CA_FILE = '/etc/npm-ca.pem'
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

interface System {
  readonly suite: string
  readonly mirror: string
  /** The script of debootstrap. One that is older than the suite has no script of that name. */
  readonly script: string
}

const UBUNTU = process.arch === 'x64' ? 'archive.ubuntu.com/ubuntu' : 'ports.ubuntu.com/ubuntu-ports'

export const SYSTEMS = {
  'Debian 13': { suite: 'trixie', mirror: 'http://deb.debian.org/debian', script: 'sid' },
  'Ubuntu 24.04': { suite: 'noble', mirror: `http://${UBUNTU}`, script: 'gutsy' },
} as const satisfies Readonly<Record<string, System>>
export type SystemName = keyof typeof SYSTEMS

/** What keeps this machine from making the root of a system; undefined where nothing does. */
export function minimalRootNeeds(name: SystemName): string | undefined {
  const { suite, mirror } = SYSTEMS[name]
  if (process.platform !== 'linux') return 'Linux'
  if (process.getuid?.() !== 0) return 'root'
  if (spawnSync('debootstrap', ['--version']).status !== 0) return 'debootstrap'
  const release = `${mirror}/dists/${suite}/Release`
  return spawnSync('wget', ['-q', '--spider', '--tries=2', '--timeout=20', release]).status === 0 ? undefined : mirror
}

/** The root of a system as its base packages leave it, with Node.js and npm, and nothing else of this machine. */
export class MinimalRoot {
  readonly path: string
  /** The variables by which npm reaches its registry. */
  readonly environment: readonly string[]

  private constructor(path: string, environment: readonly string[]) {
    this.path = path
    this.environment = environment
  }

  /** Downloads 100 MB. debootstrap warns where this machine lacks the keys of the system, and goes on without them. */
  static create(name: SystemName): MinimalRoot {
    const { suite, mirror, script } = SYSTEMS[name]
    // debootstrap makes devices, which file systems in memory forbid.
    const path = mkdtempSync('/var/tmp/plantstore-root-')
    // Other users than root have to enter it, too.
    chmodSync(path, 0o755)
    try {
      run('debootstrap', '--variant=minbase', suite, path, mirror, script)
      install(`node-linux-${process.arch}@${NODE}`, join(path, 'usr/local'))
      // What the installer of each system and each container writes, and debootstrap does not.
      writeFileSync(join(path, 'etc/hosts'), '127.0.0.1 localhost\n::1 localhost\n')
      const npm = 'usr/local/lib/node_modules/npm'
      install(`npm@${NPM}`, join(path, npm))
      for (const name of ['npm', 'npx']) symlinkSync(`/${npm}/bin/${name}-cli.js`, join(path, 'usr/local/bin', name))
      return new MinimalRoot(path, npmEnvironment(path))
    } catch (error) {
      removeRoot(path)
      throw error
    }
  }

  /** Copies the files of the project that git knows, as they are here, into a new folder of the root. */
  copySources(folder: string): void {
    const options = { cwd: ROOT, encoding: 'utf8' } as const
    // Root may read the clone of another user.
    const files = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], options).split('\0')
    for (const file of files.filter((each) => each !== '')) cpSync(join(ROOT, file), join(this.path, folder, file))
  }

  /** Returns the command that runs a script in a folder of the root, with no variables but these and those for npm. */
  command(folder: string, script: string, environment: Readonly<Record<string, string>> = {}): readonly string[] {
    const given = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
    const variables = [`PATH=${PATH}`, 'HOME=/root', ...this.environment, ...given]
    return ['unshare', '-m', 'sh', '-e', '-c', ENTER, 'sh', this.path, folder, script, ...variables]
  }

  remove(): void {
    removeRoot(this.path)
  }
}

/** Leaves other file systems alone: a debootstrap that was killed leaves /proc of this machine mounted in the root. */
function removeRoot(path: string): void {
  spawnSync('umount', [join(path, 'proc')])
  run('rm', '-rf', '--one-file-system', path)
}

/** The mounts end with their namespace. */
const ENTER = `root=$1 folder=$2 script=$3
shift 3
mount --make-rprivate /
for each in proc dev sys; do mount --rbind "/$each" "$root/$each"; done
exec chroot "$root" env -i "$@" sh -e -c 'cd "$1"; eval "$2"' sh "$folder" "$script"`

/** Unpacks a package of npm. */
function install(name: string, folder: string): void {
  mkdirSync(folder, { recursive: true })
  const [archive = ''] = run('npm', 'pack', '--silent', '--pack-destination', '/var/tmp', name)
    .trim()
    .split('\n')
    .slice(-1)
  run('tar', '-xzf', join('/var/tmp', archive), '-C', folder, '--strip-components=1', '--no-same-owner')
  rmSync(join('/var/tmp', archive))
}

/** How npm reaches its registry: as the npm of this machine is told to. */
function npmEnvironment(root: string): readonly string[] {
  const told = (name: string): string => run('npm', 'config', 'get', name).trim()
  const cafile = told('cafile')
  if (cafile !== 'null') copyFileSync(cafile, join(root, CA_FILE))
  const settings = { registry: told('registry'), cafile: cafile === 'null' ? cafile : CA_FILE, proxy: told('proxy') }
  const given = Object.entries({ ...settings, https_proxy: told('https-proxy') }).filter(
    ([, value]) => value !== 'null',
  )
  return given.map(([name, value]) => `npm_config_${name}=${value}`)
}

const run = (command: string, ...args: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 26 })
