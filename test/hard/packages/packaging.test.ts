import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { VERSION } from '../../../scripts/package/runtime.ts'
import { filesOf, ROOT } from '../../../scripts/repository.ts'
import { isSetting } from '../../../src/cli/config-file.ts'
import { isRoot, notTestedHere, runs } from '../../support/not-tested.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

/** A StatefulSet or a Deployment. */
interface Workload {
  readonly spec: {
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
    readonly template: {
      readonly spec: {
        readonly enableServiceLinks: boolean
        readonly volumes: readonly { readonly name: string }[]
        readonly containers: readonly [
          {
            readonly env: readonly { readonly name: string; readonly value: string }[]
            readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
            readonly livenessProbe: Probe
            readonly readinessProbe: Probe
            readonly startupProbe: Probe
            readonly volumeMounts: readonly { readonly name: string }[]
            readonly securityContext: { readonly readOnlyRootFilesystem: boolean }
          },
        ]
      }
    }
  }
}

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly read_only?: boolean
        readonly cap_drop?: readonly string[]
        readonly security_opt?: readonly string[]
        readonly ports?: readonly string[]
        readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
        readonly healthcheck?: object
      }
    >
  >
}

test('the packaged files name only settings that exist', () => {
  const files = filesOf(
    'packaging/{docker,kubernetes,systemd,npm}/**/*',
    'docs/guides/installing.md',
    'docs/guides/kubernetes.md',
  )
  const named = files.flatMap((path) => [...read(path).matchAll(/PLANTSTORE_[A-Z_]+/g)].map(([name]) => name))
  assert.ok(named.length > 5)
  const found = named.filter((name) => !isSetting(name))
  assert.deepEqual(found, [])
})

test('the manifests keep Kubernetes from setting the port, and send probes to the port without tokens', () => {
  for (const path of ['packaging/kubernetes/sqlite.yaml', 'packaging/kubernetes/postgres.yaml']) {
    const [{ spec }] = parseAllDocuments(read(path)).map((document) => document.toJS() as Workload) as [Workload]
    const pod = spec.template.spec
    assert.equal(pod.enableServiceLinks, false, path)
    const [{ env, ports, livenessProbe, readinessProbe, startupProbe, volumeMounts, securityContext }] = pod.containers
    const metricsPort = env.find(({ name }) => name === 'PLANTSTORE_METRICS_PORT')?.value.split(':')[1]
    assert.deepEqual(ports.find(({ name }) => name === 'metrics')?.containerPort, Number(metricsPort), path)
    const paths = [livenessProbe, readinessProbe, startupProbe].map(({ httpGet }) => [httpGet.path, httpGet.port])
    const ready = ['/health/ready', 'metrics']
    assert.deepEqual(paths, [['/health/live', 'metrics'], ready, ready], path)
    assert.equal(securityContext.readOnlyRootFilesystem, true)
    const volumes = [...pod.volumes, ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)]
    assert.deepEqual(volumeMounts.map(({ name }) => name).sort(), volumes.map(({ name }) => name).sort(), path)
  }
})

test('install.sh refuses wrong arguments and other users than root in one line, and changes nothing', () => {
  // The script comes by standard input, because another user may be unable to read the project.
  const outcome = (command: string, ...args: string[]) => {
    const options = { encoding: 'utf8', cwd: '/', input: read('packaging/systemd/install.sh') } as const
    const { status, stdout, stderr } = spawnSync(command, args, options)
    return [status, stdout, stderr]
  }
  const unknown = 'install.sh: there is no option --prefix; --help lists the options\n'
  assert.deepEqual(outcome('sh', '-s', '--', '--prefix'), [2, '', unknown])
  const needsRoot = 'install.sh: only root may install: sudo ./install.sh\n'
  assert.deepEqual(isRoot ? outcome('setpriv', '--reuid=65534', '--clear-groups', 'sh', '-s') : outcome('sh', '-s'), [
    1,
    '',
    needsRoot,
  ])
})

test('npm run package refuses an unknown kind of package', () => {
  const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/package.ts'), 'rpm'], {
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [2, 'package: there is no kind rpm; there is npm, client, tarball, executable\n'])
})

test('systemd-analyze rates the security of the unit as OK', (t) => {
  if (!runs('systemd-analyze', '--version')) return notTestedHere(t, 'what systemd says of the unit')
  const unit = join(ROOT, 'packaging/systemd/plantstore.service')
  // The threshold is in tenths of the exposure. Less than 5.0 is rated OK.
  const args = ['security', '--offline=true', '--threshold=49', unit]
  const { status, stdout } = spawnSync('systemd-analyze', args, { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})

test('the image has the Node.js of the archive', () => {
  const stages = [...read('packaging/docker/Dockerfile').matchAll(/^FROM node:(\d+\.\d+\.\d+)-/gm)]
  assert.deepEqual(new Set(stages.map(([, version]) => version)), new Set([VERSION]))
})

test('the service of the compose file has a read-only root and no capabilities, and waits for its database', () => {
  const { services } = parse(read('packaging/docker/compose.yaml')) as Compose
  const { plantstore, database } = services
  assert.deepEqual(
    [plantstore?.read_only, plantstore?.cap_drop, plantstore?.security_opt],
    [true, ['ALL'], ['no-new-privileges:true']],
  )
  assert.equal(plantstore?.depends_on?.['database']?.condition, 'service_healthy')
  assert.ok(database?.healthcheck !== undefined)
  assert.deepEqual([database?.ports, plantstore?.ports], [undefined, ['127.0.0.1:8080:8080']])
})
