import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { npmPackage } from '../../scripts/package/npm-package.ts'
import { ROOT } from '../../scripts/repository.ts'
import { tempFolder } from '../support/files.ts'
import { freePort } from '../support/free-port.ts'
import { notTestedHere, runs } from '../support/not-tested.ts'
import { canLayer, inNamespace, LAYERED_ROOT } from './layered-root.ts'
import { createsPlant } from './support.ts'

/** The arguments of the last stage of the Dockerfile, by instruction. */
function image(): (name: string) => string {
  const text = readFileSync(join(ROOT, 'packaging/docker/Dockerfile'), 'utf8').replaceAll(/\\\n/g, '')
  const stage = text.slice(text.lastIndexOf('\nFROM '))
  return (name) => new RegExp(`^${name} (.*)$`, 'm').exec(stage)?.[1] ?? assert.fail(`there is no ${name}`)
}

/** Runs the instructions of the image without Docker: on this machine's root, read-only, as the user of the image. */
test('the program of the image creates a plant on a read-only root, and its health check passes', async (t) => {
  if (!runs('docker', 'info')) notTestedHere(t, 'docker build and docker run, which need a daemon')
  const folder = tempFolder(t)
  if (!canLayer(folder)) return notTestedHere(t, 'what the image runs, which needs root and a layered root')
  const layer = join(folder, 'layer')
  mkdirSync(layer)
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
    const [, ...check] = JSON.parse(/CMD (\[.*\])/.exec(of('HEALTHCHECK'))?.[1] ?? '[]') as string[]
    const healthOn = (on: string) => spawnSync(process.execPath, check, { env: { PLANTSTORE_PORT: on } }).status
    assert.equal(healthOn(port), 0)
    assert.equal(healthOn('1'), 1, 'nothing listens on that port')
  }
  const env = { HOME: '/nonexistent', NODE_COMPILE_CACHE: '', PLANTSTORE_PORT: port }
  const args = inNamespace(script, layer, npmPackage(folder), prepare, serve)
  await createsPlant(t, args, folder, { env, whileServing })
})
