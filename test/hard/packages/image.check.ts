import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { MinimalRoot, minimalRootNeeds } from '../../../scripts/minimal-root.ts'
import { npmPackage } from '../../../scripts/package/npm-package.ts'
import { writeRuntime } from '../../../scripts/package/runtime.ts'
import { ROOT } from '../../../scripts/repository.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { freePort } from '../../support/free-port.ts'
import { notTestedHere, runs } from '../../support/not-tested.ts'
import { TOKEN } from '../../support/process.ts'
import { canLayer, inNamespace, LAYERED_ROOT } from './layered-root.ts'
import { createsPlant, TELLS_FLAGS } from './support.ts'

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
