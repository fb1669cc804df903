import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { VERSION } from '../../../scripts/package/runtime.ts'
import { ROOT } from '../../../scripts/repository.ts'
import { PROGRAM } from '../../client/tour.ts'
import { cleanUp, type Scene } from '../../support/clean-up.ts'
import { tempFolder } from '../../support/files.ts'
import { faultsOfTypes } from './support.ts'

const { version, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}
const DIST = join(ROOT, 'dist')
const TAG = `v${version}`
const OF_A_TAG = {
  GITHUB_REF_TYPE: 'tag',
  GITHUB_REF_NAME: TAG,
  GITHUB_SERVER_URL: 'https://git.example',
  GITHUB_REPOSITORY: 'garden/plantstore',
}

/** Runs the script as `npm run` does, which passes the setting of the project on. */
async function release(args: readonly string[], given: Readonly<Record<string, string>> = {}, root = ROOT) {
  const none = { GITHUB_REF_TYPE: '', GITHUB_SERVER_URL: '', GITHUB_REPOSITORY: '' }
  const env = { ...process.env, ...none, npm_config_ignore_scripts: 'true', ...given }
  const run = promisify(execFile)(process.execPath, ['scripts/release.ts', ...args], { cwd: root, env })
  return await run.then(
    ({ stdout, stderr }) => ({ status: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ status: code, stdout, stderr }),
  )
}

suite('npm run release', () => {
  test('makes a draft of everything, then publishes packages that compile, and may run again after a failure', async (t) => {
    rmSync(DIST, { recursive: true, force: true })
    cleanUp(t, () => rmSync(DIST, { recursive: true, force: true }))
    const registry = await withRegistry(t)
    const { env, calls } = withGh(t)
    const run = async (...args: string[]) => {
      const { status, stdout, stderr } = await release(args, { ...OF_A_TAG, ...registry.env, ...env })
      assert.equal(status, 0, stderr)
      return stdout
    }

    await run()
    const names = checkSums()
    checkSizes(names)
    checkBill()
    assert.deepEqual(registry.published(), [], 'nothing on npm before all else is there')
    const [view, create = ''] = calls()
    assert.equal(view, `release view ${TAG} --json isDraft`)
    assert.match(create, new RegExp(`^release create ${TAG} --draft --verify-tag `))
    for (const name of names) assert.ok(create.includes(join(DIST, name)), name)

    await run('--publish')
    assert.deepEqual(registry.published(), ['plantstore', 'plantstore-client'])
    assert.equal(calls().at(-1), `release edit ${TAG} --draft=false`)
    await run()
    assert.match(
      calls().at(-1) ?? '',
      new RegExp(`^release upload ${TAG} --clobber `),
      'a second run, which makes everything again',
    )
    assert.match(await run('--publish'), /^plantstore \S+ is published already, with the same content$/m)

    await installAndCompile(t, registry.env)
    const dry = await release(['--publish', '--dry-run'], registry.env)
    assert.match(dry.stdout, new RegExp(`^not done: gh release edit ${TAG} --draft=false$`, 'm'), dry.stderr)
    registry.change('plantstore')
    const { status, stderr } = await release(['--publish'], { ...OF_A_TAG, ...registry.env, ...env })
    assert.equal(status, 1)
    assert.match(stderr, /npm has another plantstore \S+, with sha512-other; give the release the next number/)
  })

  test('refuses to upload without a tag, with the tag of another version, and with different versions', async (t) => {
    const refused = async (said: RegExp, ...given: Parameters<typeof release>) => {
      const { status, stderr } = await release(...given)
      assert.equal(status, 1)
      assert.match(stderr, said)
    }
    await refused(/only a workflow of a tag uploads/, [])
    await refused(/the tag is v0\.0\.1 in place of v/, ['--dry-run'], { ...OF_A_TAG, GITHUB_REF_NAME: 'v0.0.1' })
    const root = tempFolder(t)
    for (const name of ['scripts', 'src', 'package.json', 'client/package.json', 'CHANGELOG.md']) {
      cpSync(join(ROOT, name), join(root, name), { recursive: true })
    }
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
    writeFileSync(join(root, 'client/package.json'), '{"version":"0.0.1"}')
    writeFileSync(join(root, 'CHANGELOG.md'), `## ${version} - unreleased\n`)
    await refused(/client\/package\.json has 0\.0\.1/, ['--dry-run'], {}, root)
    await refused(/CHANGELOG\.md begins with ".* - unreleased"/, ['--dry-run'], {}, root)
    const manifest = {
      name: 'plantstore',
      version,
      repository: { type: 'git', url: 'git+https://git.example/a/b.git' },
    }
    writeFileSync(join(root, 'package.json'), JSON.stringify(manifest))
    await refused(
      /names the repository git\+\S+\/a\/b\.git, and this workflow runs in git\+\S+\/garden/,
      [],
      OF_A_TAG,
      root,
    )
  })
})

/** @returns the names of the files that a release of this system consists of */
function checkSums(): readonly string[] {
  const sums = readFileSync(join(DIST, 'SHA256SUMS'), 'utf8')
  const names = sums
    .trim()
    .split('\n')
    .map((line) => line.slice(66))
  const system = `${process.platform}-${process.arch}${process.platform === 'win32' ? '.exe' : ''}`
  const made = [`plantstore-${version}-${system}`, `plantstore-${version}.tgz`, `plantstore-client-${version}.tgz`]
  const bills = [`plantstore-${version}.cdx.json`, `plantstore-client-${version}.cdx.json`]
  const archive = process.platform === 'linux' ? [`plantstore-${version}-${system}.tar.gz`] : []
  assert.deepEqual(names.toSorted(), [...made, ...bills, ...archive].toSorted())
  if (process.platform === 'linux') execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: DIST })
  return names
}

/** The table of the guide has the sizes of the files, to a fifth. */
function checkSizes(names: readonly string[]): void {
  const guide = readFileSync(join(ROOT, 'docs/guides/installing.md'), 'utf8')
  const rows = { '.tgz': 'npm-package', '-x64': 'one-executable-file', '.tar.gz': 'archive-with' }
  for (const [end, row] of Object.entries(rows)) {
    const name = names.find((each) => !each.includes('client') && each.endsWith(end))
    if (name === undefined) continue
    const size = statSync(join(DIST, name)).size / 1e6
    const said = Number(new RegExp(`#[a-z-]*${row}[a-z-]*\\) +\\| (\\d+) MB`).exec(guide)?.[1])
    assert.ok(Math.abs(size / said - 1) < 0.2, `${name} has ${size.toFixed(1)} MB, and the guide says ${said}`)
  }
}

function checkBill(): void {
  const bill = JSON.parse(readFileSync(join(DIST, `plantstore-${version}.cdx.json`), 'utf8')) as Bill
  const contained = new Map(bill.components.map((each) => [each.name, each.version]))
  for (const [name, wanted] of Object.entries(dependencies)) assert.equal(contained.get(name), wanted, name)
  const runtimes = bill.components.filter(({ name }) => name === 'node').map(({ version }) => version)
  assert.deepEqual(runtimes, [process.versions.node, VERSION])
  assert.equal(contained.get('typescript'), undefined, 'what only developers need')
}

/** Installs both packages by their names, and compiles a program against them. */
async function installAndCompile(scene: Scene, env: Readonly<Record<string, string>>): Promise<void> {
  const folder = tempFolder(scene)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const options = { cwd: folder, env: { ...process.env, ...env } }
  const named = ['plantstore', 'plantstore-client'].map((name) => `${name}@${version}`)
  // Not in one go: the registry is in this process.
  await promisify(execFile)('npm', ['install', '--no-audit', ...named], options)
  for (const [name, directory] of [['plantstore'], ['plantstore-client', 'client']]) {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, 'node_modules', name ?? '', 'package.json'), 'utf8'))
    const address = 'https://git.example/garden/plantstore'
    const repository = { type: 'git', url: `git+${address}.git`, ...(directory === undefined ? {} : { directory }) }
    assert.partialDeepStrictEqual(manifest, { repository, homepage: `${address}#readme`, bugs: `${address}/issues` })
  }
  const program = `import { PlantstoreClient, PlantstoreError } from 'plantstore-client'
import { main } from 'plantstore'
${PROGRAM}
export const started: Promise<void> = main(['node', 'plantstore', 'serve'])
`
  writeFileSync(join(folder, 'program.ts'), program)
  assert.equal(faultsOfTypes(folder, 'program.ts'), '')
}

/** A registry of its own, as far as `npm publish`, `npm view` and `npm install` ask it. */
async function withRegistry(scene: Scene) {
  const packages = new Map<string, Published>()
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1)
    const [name = '', archive] = path.split('/-/')
    if (request.method === 'PUT') packages.set(name, (await json(request)) as Published)
    const found = packages.get(name)
    if (found === undefined) return void response.writeHead(404).end('{}')
    const { _attachments: files, ...document } = found
    response.end(archive === undefined ? JSON.stringify(document) : Buffer.from(files[archive]?.data ?? '', 'base64'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(scene, () => void server.close())
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = {
    npm_config_registry: `http://${address}/`,
    [`npm_config_//${address}/:_authToken`]: 'token',
    npm_config_cache: tempFolder(scene),
  }
  const published = () => [...packages.keys()].toSorted()
  const change = (name: string) => {
    const { dist } = packages.get(name)?.versions[version] ?? assert.fail()
    dist.integrity = 'sha512-other'
  }
  return { env, published, change }
}

/** A command `gh` that keeps its arguments, and knows the release once one has made it. */
function withGh(scene: Scene) {
  const folder = tempFolder(scene)
  const [log, made] = [join(folder, 'calls'), join(folder, 'made')]
  mkdirSync(join(folder, 'bin'))
  const script = `#!/bin/sh
printf '%s' "$*" | tr '\\n' ' ' >> "${log}"
echo >> "${log}"
case $2 in
  view) [ -e "${made}" ] || { echo "release not found" >&2; exit 1; }; echo '{"isDraft":true}' ;;
  create) touch "${made}" ;;
esac
`
  writeFileSync(join(folder, 'bin/gh'), script)
  chmodSync(join(folder, 'bin/gh'), 0o755)
  const PATH = [join(folder, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter)
  return { env: { PATH }, calls: () => readFileSync(log, 'utf8').trimEnd().split('\n') }
}

interface Published {
  readonly versions: Readonly<Record<string, { readonly dist: { integrity: string } }>>
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>
}

interface Bill {
  readonly components: readonly { readonly name: string; readonly version: string }[]
}
