import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { MinimalRoot, minimalRootNeeds } from '../../../scripts/minimal-root.ts'
import { executable } from '../../../scripts/package/executable.ts'
import { npmPackage } from '../../../scripts/package/npm-package.ts'
import { writeRuntime } from '../../../scripts/package/runtime.ts'
import { tarball } from '../../../scripts/package/tarball.ts'
import { ROOT } from '../../../scripts/repository.ts'
import { SCOPES } from '../../../src/domain/token.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { freePort } from '../../support/free-port.ts'
import { isLinux, isRoot, notTestedHere, runs } from '../../support/not-tested.ts'
import { newDatabase } from '../../support/postgres.ts'
import { TOKEN } from '../../support/process.ts'
import { callsService, createsPlant, linesFor, TELL, TELLS_FLAGS } from './support.ts'

test('the executable file needs no other file, and creates plants on both engines', async (t) => {
  const folder = tempFolder(t)
  const program = await executable(folder)
  t.diagnostic(`${(statSync(program).size / 1e6).toFixed(1)} MB`)
  writeFileSync(join(folder, 'tell.cjs'), TELL)
  // Hides Node.js and the project. An executable file runs no script of --import.
  const env = { PATH: '/nowhere', HOME: '/nowhere', NODE_OPTIONS: `--require=${join(folder, 'tell.cjs')}` }
  const whileServing = (address: string) => callsService(program, folder, address, env)
  await t.test('SQLite', (t) => createsPlant(t, [program, 'serve'], folder, { env, whileServing }))
  await t.test('PostgreSQL', async (t) => {
    const store = await newDatabase(t)
    await createsPlant(t, [program, 'serve'], folder, { env: { ...env, PLANTSTORE_STORE: store } })
  })
  await t.test('it prints the contract, and help with its own name', () => {
    const run = (...args: string[]) => execFileSync(program, args, { encoding: 'utf8', env, cwd: folder })
    const sources = execFileSync(process.execPath, [join(ROOT, 'bin/plantstore.js'), 'openapi'], { encoding: 'utf8' })
    assert.equal(run('openapi'), sources)
    assert.match(run('--help'), /^Usage: plantstore /)
    assert.ok(basename(program).startsWith('plantstore-'))
  })
})

/**
 * Mounts the root of this machine at `$1/root`, with a layer in memory over it. The layer takes all changes, and ends
 * with the mount namespace.
 */
const LAYERED_ROOT = `
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for each in proc dev sys; do mount --rbind "/$each" "$1/root/$each"; done
`

/** The command that runs a script as root in its own namespaces. `args` are `$1` and following. */
const inNamespace = (script: string, ...args: readonly string[]): readonly string[] => [
  'unshare',
  '-m',
  'sh',
  '-e',
  '-c',
  script,
  'sh',
  ...args,
]

function canLayer(folder: string): boolean {
  const [command = '', ...args] = inNamespace(LAYERED_ROOT, folder)
  return isLinux && isRoot && runs(command, ...args)
}

const hasAnalyzer = runs('systemd-analyze', '--version')
/** systemd-analyze rates an exposure below 5.0 as OK. */
const SYSTEMD = hasAnalyzer
  ? `said=$(systemd-analyze verify plantstore.service 2>&1) || fail "$said"
[ -z "$said" ] || fail "$said"
systemd-analyze security --offline=true --threshold=49 /etc/systemd/system/plantstore.service > /dev/null`
  : ''

test('the lines of the guide install a service from the archive, which creates a plant', async (t) => {
  const folder = tempFolder(t)
  if (!canLayer(folder)) return notTestedHere(t, 'install.sh, which needs root and a layered root')
  const [archives, layer] = [join(folder, 'archives'), join(folder, 'layer')]
  for (const each of [archives, layer]) mkdirSync(each)
  tarball(archives)
  const install = linesFor('tar -xzf').replaceAll('sudo ', '')
  const list = linesFor('sudo -u plantstore')
    .replace('sudo -u', 'runuser -u')
    .replace('plantstore /', 'plantstore -- /')
  const serve = '/opt/plantstore/bin/plantstore serve --config /etc/plantstore/plantstore.conf'
  const inside = `fail() { echo "$1" >&2; exit 1; }
cd /installing
# As on a bare Debian or Ubuntu.
rm -f /usr/lib/*/libatomic.so.1*
mkdir /opt/plantstore
if (set -e; ${install.trim().replaceAll('\n', '; ')}) > refused 2>&1; then fail 'another folder was replaced'; fi
grep -q '^install.sh: /opt/plantstore is a folder that this script did not make' refused || fail "$(cat refused)"
rmdir /opt/plantstore
${install}
[ "$(getent passwd plantstore | cut -d: -f6,7)" = /nonexistent:/usr/sbin/nologin ] || fail 'another user'
modes=$(stat -c %U:%a /var/lib/plantstore /var/lib/plantstore/plants.db /etc/plantstore/plantstore.conf | tr '\\n' ' ')
[ "$modes" = 'plantstore:700 plantstore:600 root:640 ' ] || fail "$modes"
if runuser -u plantstore -- find -L /opt /etc/plantstore -writable | grep .; then fail 'the user may write these'; fi
# Again, as an upgrade does: the settings stay, and no second token is made.
echo PLANTSTORE_LOG_LEVEL=warn >> /etc/plantstore/plantstore.conf
chmod 600 /etc/plantstore/plantstore.conf
sh plantstore-*/install.sh > again
if grep Token again; then fail 'a second token'; fi
[ "$(stat -c %G:%a /etc/plantstore/plantstore.conf)" = plantstore:640 ] || fail 'the service may not read its settings'
grep -q LOG_LEVEL /etc/plantstore/plantstore.conf || fail 'the settings are gone'
# The folder of the archive is root's.
cd /
[ "$(${list.trim()} | grep -c 'tok_.* administrator  *${SCOPES.join()} ')" = 1 ] || fail 'not one token with all scopes'
${SYSTEMD}
exec setpriv --reuid plantstore --regid plantstore --clear-groups ${serve}`
  const script = `${LAYERED_ROOT}
mkdir "$1/root/installing"
cp "$2"/* "$1/root/installing"
exec chroot "$1/root" sh -e -c "$3"`
  const env = { HOME: '/nonexistent', NODE_COMPILE_CACHE: '' }
  await createsPlant(t, inNamespace(script, layer, archives, inside), folder, { env })
  if (!hasAnalyzer) notTestedHere(t, 'systemd-analyze')
})

/** The arguments of the last stage of the Dockerfile, by instruction. */
function image(): (name: string) => string {
  const text = readFileSync(join(ROOT, 'packaging/docker/Dockerfile'), 'utf8').replaceAll(/\\\n/g, '')
  const stage = text.slice(text.lastIndexOf('\nFROM '))
  return (name) => new RegExp(`^${name} (.*)$`, 'm').exec(stage)?.[1] ?? assert.fail(`there is no ${name}`)
}

const [, NODE = ''] = /^FROM (\S+)$/m.exec(readFileSync(join(ROOT, 'packaging/docker/Dockerfile'), 'utf8')) ?? []

/** Runs the instructions of the image without Docker: on this machine's root, read-only, as the user of the image. */
test('the program of the image creates a plant on a read-only root, and its health check passes', async (t) => {
  if (!runs('docker', 'info')) notTestedHere(t, 'docker build and docker run, which need a daemon')
  const folder = tempFolder(t)
  if (!canLayer(folder)) return notTestedHere(t, 'what the image runs, which needs root and a layered root')
  const layer = join(folder, 'layer')
  mkdirSync(layer)
  const runtime = join(folder, 'runtime')
  writeRuntime(runtime)
  const of = image()
  const command = [...(JSON.parse(of('ENTRYPOINT')) as string[]), ...(JSON.parse(of('CMD')) as string[])]
  const prepare = `mkdir /opt/plantstore && tar -xzf "$1" -C /opt/plantstore --strip-components=1
getent passwd ${of('USER')} > /dev/null || useradd --uid 1000 --non-unique ${of('USER')}
${of('RUN')}`
  const serve = `cd ${of('WORKDIR')}
exec setpriv --reuid ${of('USER')} --regid ${of('USER')} --clear-groups --bounding-set=-all --no-new-privs \\
  env ${of('ENV')} PLANTSTORE_HOST=127.0.0.1 ${command.join(' ')}`
  const script = `${LAYERED_ROOT}
cp "$2" "$1/root/plantstore.tgz"
# As the base of the image has them.
cp "$5/node" "$1/root/usr/local/bin/node"
cp "$5/lib/libatomic.so.1" "$1/root/usr/lib"
chroot "$1/root" sh -e -c "$3" sh /plantstore.tgz
mkdir "$1/volume" && cp -a "$1/root${of('VOLUME')}/." "$1/volume"
chmod --reference="$1/root${of('VOLUME')}" "$1/volume" && chown --reference="$1/root${of('VOLUME')}" "$1/volume"
mount --bind "$1/volume" "$1/root${of('VOLUME')}"
mount -t tmpfs tmpfs "$1/root/tmp"
mount -o remount,ro "$1/root"
! touch "$1/root/opt/plantstore/written" 2> /dev/null || exit 1
exec chroot "$1/root" sh -e -c "$4"`
  const port = String(await freePort())
  const whileServing = () => {
    const script = join(ROOT, 'packaging/docker/health.sh')
    const healthOn = (on: string) => spawnSync('bash', [script], { env: { PLANTSTORE_PORT: on } }).status
    assert.equal(healthOn(port), 0)
    assert.equal(healthOn('1'), 1, 'nothing listens on that port')
  }
  const env = { HOME: '/nonexistent', NODE_COMPILE_CACHE: '', PLANTSTORE_PORT: port }
  const args = inNamespace(script, layer, npmPackage(folder), prepare, serve, runtime)
  await createsPlant(t, args, folder, { env, whileServing })
})

test('the image is built, serves as the user of the image, and is healthy', async (t) => {
  if (!runs('buildah', '--version')) return notTestedHere(t, 'the build of the image, which needs buildah')
  const needed = minimalRootNeeds('Debian 13')
  if (needed !== undefined) return notTestedHere(t, `the build of the image, whose base needs ${needed}`)
  const root = MinimalRoot.create('Debian 13')
  cleanUp(t, () => root.remove())
  // In place of the base image of the Dockerfile, which only a registry of images has.
  const runtime = join(tempFolder(t), 'runtime')
  writeRuntime(runtime)
  copyFileSync(join(runtime, 'node'), join(root.path, 'usr/local/bin/node'))
  copyFileSync(join(runtime, 'lib/libatomic.so.1'), join(root.path, 'usr/lib/libatomic.so.1'))
  execFileSync('chroot', [root.path, 'useradd', '--uid', '1000', '--create-home', 'node'])
  const storage = join(root.path, '../', `${basename(root.path)}-images`)
  const options = ['--root', storage, '--runroot', `${storage}/run`, '--storage-driver', 'vfs']
  const buildah = (...args: readonly string[]): string =>
    execFileSync('buildah', [...options, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
  cleanUp(t, () => {
    execFileSync('rm', ['-rf', '--one-file-system', storage])
  })
  const base = buildah('from', 'scratch')
  buildah('copy', '--quiet', base, root.path, '/')
  buildah('config', ...root.environment.flatMap((each) => ['--env', each]), base)
  buildah('commit', '--quiet', '--rm', base, `localhost/${NODE}`)
  root.copySources('/context')
  const context = join(root.path, 'context')
  const given = ['--isolation', 'chroot', '--pull=never', '--format', 'docker']
  buildah('build', '--quiet', ...given, '-f', join(context, 'packaging/docker/Dockerfile'), '-t', 'plantstore', context)
  const { OCIv1 } = JSON.parse(buildah('inspect', '--type', 'image', 'plantstore')) as Inspected
  assert.equal(OCIv1.config.User, 'node')
  assert.equal(OCIv1.config.Labels['org.opencontainers.image.licenses'], 'MIT')
  const container = buildah('from', '--pull=never', 'plantstore')
  const port = String(await freePort())
  const run = ['run', '--isolation', 'chroot', '--env', `PLANTSTORE_PORT=${port}`]
  const health = () => spawnSync('buildah', [...options, ...run, container, '--', 'plantstore-health']).status
  const settings = ['--env', `PLANTSTORE_TOKEN=${TOKEN}`, '--env', 'PLANTSTORE_LOG_LEVEL=error']
  for (const [name, value] of Object.entries(TELLS_FLAGS)) settings.push('--env', `${name}=${value}`)
  const command = [...OCIv1.config.Entrypoint, ...OCIv1.config.Cmd]
  assert.equal(health(), 1, 'nothing listens yet')
  await createsPlant(t, ['buildah', ...options, ...run, ...settings, container, '--', ...command], root.path, {
    whileServing: () => assert.equal(health(), 0),
  })
})

interface Inspected {
  readonly OCIv1: {
    readonly config: {
      readonly User: string
      readonly Labels: Readonly<Record<string, string>>
      readonly Entrypoint: readonly string[]
      readonly Cmd: readonly string[]
    }
  }
}
