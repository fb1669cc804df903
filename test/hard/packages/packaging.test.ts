import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { completions } from '../../../scripts/package/completions.ts'
import { manPage } from '../../../scripts/package/man-page.ts'
import { VERSION } from '../../../scripts/package/runtime.ts'
import { filesOf, ROOT } from '../../../scripts/repository.ts'
import { isSetting } from '../../../src/cli/config-file.ts'
import { program } from '../../../src/cli/program.ts'
import { tempFolder } from '../../support/files.ts'
import { isRoot, notTestedHere, runs } from '../../support/not-tested.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

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

interface Named {
  readonly name: string
}

/** What the test looks at of a StatefulSet or a Deployment. */
interface Workload {
  readonly volumeClaimTemplates?: readonly { readonly metadata: Named }[]
  readonly template: {
    readonly spec: {
      readonly volumes: readonly Named[]
      readonly containers: readonly [{ readonly volumeMounts: readonly Named[] }]
    }
  }
}

test('the manifests keep Kubernetes from setting the port, and send probes to the port without tokens', () => {
  const probe = (path: string) => ({ httpGet: { path, port: 'metrics' } })
  for (const path of ['packaging/kubernetes/sqlite.yaml', 'packaging/kubernetes/postgres.yaml']) {
    const [{ spec } = assert.fail()] = parseAllDocuments(read(path)).map((each) => each.toJS() as { spec: Workload })
    const pod = spec.template.spec
    assert.partialDeepStrictEqual(pod, {
      enableServiceLinks: false,
      containers: [
        {
          env: [{ name: 'PLANTSTORE_METRICS_PORT', value: '0.0.0.0:9090' }],
          ports: [{ name: 'metrics', containerPort: 9090 }],
          livenessProbe: probe('/health/live'),
          readinessProbe: probe('/health/ready'),
          startupProbe: probe('/health/ready'),
          securityContext: { readOnlyRootFilesystem: true },
        },
      ],
    })
    const volumes = [...pod.volumes, ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)]
    const mounted = pod.containers[0].volumeMounts
    assert.deepEqual(mounted.map(({ name }) => name).sort(), volumes.map(({ name }) => name).sort(), path)
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
  const { services } = parse(read('packaging/docker/compose.yaml')) as {
    services: Record<'plantstore' | 'database', { ports?: unknown }>
  }
  assert.partialDeepStrictEqual(services, {
    plantstore: {
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      depends_on: { database: { condition: 'service_healthy' } },
    },
    database: { healthcheck: {} },
  })
  assert.deepEqual([services.database.ports, services.plantstore.ports], [undefined, ['127.0.0.1:8080:8080']])
})

/** What a person has typed, and words that the shell offers for it. */
const OFFERED: readonly (readonly [typed: string, ...words: string[]])[] = [
  ['plantstore imp', 'import'],
  ['plantstore token ro', 'rotate'],
  ['plantstore --ver', '--version'],
  ['plantstore export --for', '--format', '--force'],
  ['plantstore export --format nd', 'ndjson'],
  ['plantstore import --mode up', 'update'],
  ['plantstore import --url http://127.0.0.1:8080 --dry', '--dry-run'],
  ['plantstore token create --sco', '--scopes'],
  ['plantstore import spr', 'spring.csv'],
  ['plantstore serve --config spr', 'spring.csv'],
]

/** A folder like /usr/share with the completions, in a folder with a file to import. */
function install(t: TestContext): string {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'spring.csv'), '')
  for (const [path, text] of Object.entries(completions(program()))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** Asks a shell for completions by a script that takes the typed line. @returns the words that it prints */
function offeredBy(folder: string, shell: string, script: string, typed: string): readonly string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', script, shell, typed], { cwd: folder, encoding: 'utf8' })
  assert.equal(stderr, '')
  // Behind a word of zsh may be the rest of a control sequence.
  return stdout.split(/\s+/).map((word) => word.replace(/^\[[\d;?]*[A-Za-z]/, ''))
}

/** A script for each shell that prints what it offers. */
const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `. bash-completion/completions/plantstore
compopt() { [ "$1" = +o ] && fallback=; }
read -ra COMP_WORDS <<< "$1"; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); fallback=yes
_plantstore
[ \${#COMPREPLY[@]} = 0 ] && [ -n "$fallback" ] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[-1]}"))
echo "\${COMPREPLY[@]}"`,
  fish: `source fish/vendor_completions.d/plantstore.fish
complete -C "$argv[-1]" | string split -f 1 \\t`,
  // A shell of its own on a terminal, because the completion of zsh needs its editor. The marks are in no typed line.
  zsh: `zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; fpath=($PWD/zsh/site-functions \\$fpath); autoload -Uz compinit; compinit -u -D"
zpty -w inner "mark() print -r -- @'marked'@; zle -N mark; bindkey '^X' mark; LISTMAX=1000; print -r -- @'ready'@"
zpty -r -m inner line '*@ready@*'
zpty -w -n inner "$1"$'\\t\\t\\x18'
zpty -r -m inner line '*@marked@*'
print -r -- "\${line//[^[:print:]]/ }"`,
}

suite('what shells offer', () => {
  for (const [shell, script] of Object.entries(SCRIPTS)) {
    test(`in ${shell}: commands, options, their values and files`, (t) => {
      if (!runs(shell, '--version')) return notTestedHere(t, `completions in ${shell}, which is not there`)
      const folder = install(t)
      for (const [typed, ...words] of OFFERED) {
        const offered = offeredBy(folder, shell, script, typed)
        for (const word of words) assert.ok(offered.includes(word), `${shell}: ${typed}: ${offered.join(' ')}`)
      }
    })
  }
})

test('the page of the manual has every command, and no fault', (t) => {
  const page = manPage(program(), '1.2.3', '2030-01-02')
  for (const each of program().commands)
    if (each.name() !== 'help') assert.ok(page.includes(`.SS plantstore ${each.name()}`))
  if (!runs('groff', '--version')) return notTestedHere(t, 'the page of the manual, as there is no groff')
  const flags = ['-man', '-wmac', '-wescape', '-wmissing', '-Wbreak', '-Tutf8', '-Kutf8']
  const { stdout, stderr } = spawnSync('groff', flags, { input: page, encoding: 'utf8' })
  assert.equal(stderr, '')
  assert.match(stdout, /--columns/)
})
