import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SETTINGS } from '../src/settings/config.ts'
import { command } from './support/commands.ts'
import { snapshot, tempFolder } from './support/files.ts'
import { pluck } from './support/pluck.ts'
import { pretend, run, startServer } from './support/process.ts'

/** Every command; `plantstore --help` and `plantstore token --help` must name them. */
const COMMANDS = [
  ['serve'],
  ['token', 'create'],
  ['token', 'list'],
  ['token', 'revoke'],
  ['import'],
  ['export'],
  ['copy'],
  ['backup'],
  ['restore'],
  ['check'],
  ['status'],
  ['openapi'],
]

for (const args of [[], ['token'], ...COMMANDS]) {
  test(`plantstore ${[...args, '--help'].join(' ')} shows the usage and examples that start with plantstore`, async (t) => {
    const folder = tempFolder(t)
    const { code, stdout, stderr } = await command([...args, '--help'], { cwd: folder })
    assert.deepEqual([code, stderr], [0, ''])
    assert.ok(stdout.startsWith(`Usage: ${['plantstore', ...args].join(' ')}`), stdout)
    const examples = /^Examples:\n((?: {2}.+\n)+)/m.exec(stdout)?.[1] ?? ''
    const lines = (examples.match(/\S.*/g) ?? []).map((line) => line.trim())
    const hasExample = lines.some((line) => line.startsWith(['plantstore', ...args].join(' ')))
    assert.ok(hasExample, `no example:\n${stdout}`)
    const isKnown = (line: string) => COMMANDS.some((known) => line.startsWith(`plantstore ${known.join(' ')}`))
    for (const line of lines) assert.ok(isKnown(line), line)
    const isBelow = (known: readonly string[]) => args.every((arg, i) => known[i] === arg)
    for (const sub of COMMANDS.filter((known) => known.length > args.length && isBelow(known))) {
      assert.match(stdout, new RegExp(`^ {2}${sub[args.length]} `, 'm'))
    }
    assert.deepEqual(snapshot(folder), {})
  })
}

type Misuse = readonly [args: readonly string[], says: RegExp]

const MISUSES: readonly Misuse[] = [
  [[], /^Usage: plantstore \[options\] \[command\]\n/],
  [['token'], /^Usage: plantstore token \[options\] \[command\]\n/],
  [['nonsense'], /unknown command 'nonsense'/],
  [['serve', '--nonsense'], /unknown option '--nonsense'/],
  [['serve', '--port'], /--port/],
  [['serve', 'extra'], /too many arguments/],
  [['token', 'nonsense'], /unknown command 'nonsense'/],
  [['help', 'bogus'], /^plantstore: unknown command 'bogus'$/m],
  [['help', 'token', 'bogus'], /^plantstore: unknown command 'bogus'$/m],
  [['token', 'help', 'bogus'], /^plantstore: unknown command 'bogus'$/m],
  [['copy'], /^plantstore: --from: is missing; .*\nplantstore: --to: is missing; /],
  [['copy', '--to', 'x'], /^plantstore: --from: is missing; .*\nplantstore: --to: is neither a store like /],
  [['backup'], /missing required argument 'file'/],
  [['restore'], /missing required argument 'file'/],
  [['check', 'extra'], /too many arguments/],
  [['token', 'revoke'], /missing required argument 'id'/],
  [['token', 'list', '--store', 'mysql://me:secret@x'], /--store: is neither a store like sqlite:(?!.*secret)/],
]

for (const [args, says] of MISUSES) {
  test(`plantstore ${args.join(' ')} is wrong usage, and does nothing`, async (t) => {
    const folder = tempFolder(t)
    const { code, stdout, stderr } = await command(args, { cwd: folder })
    assert.match(stderr, says)
    assert.doesNotMatch(stderr, /^\s+at /m, 'no stack')
    assert.deepEqual([code, stdout], [2, ''])
    assert.deepEqual(snapshot(folder), {})
  })
}

test('plantstore serve --help lists each setting once, below the heading of its subject', async () => {
  const { stdout } = await command(['serve', '--help'])
  const flagsBelow = new Map<string, string[]>()
  for (const [, heading = '', lines = ''] of stdout.matchAll(/^(\w[^:\n]*):\n((?: {2}.*\n)+)/gm)) {
    flagsBelow.set(heading, lines.match(/(?<=^ {2}--)[\w-]+/gm) ?? [])
  }
  assert.deepEqual(flagsBelow.get('Store')?.[0], 'store')
  assert.deepEqual(flagsBelow.get('Backups'), ['backup-every', 'backup-keep', 'backup-folder', 'backup-hook'])
  assert.deepEqual(flagsBelow.get('Options'), ['config', 'print-config'])
  const grouped = [...flagsBelow].flatMap(([heading, flags]) => (heading === 'Options' ? [] : flags))
  assert.deepEqual(grouped.toSorted(), pluck(Object.values(SETTINGS), 'flag').toSorted())
  for (const [heading, flags] of flagsBelow) assert.ok(flags.length <= 8, heading)
})

test('plantstore help COMMAND shows the same as COMMAND --help', async () => {
  for (const path of [[], ['copy'], ['token'], ['token', 'create']]) {
    const [by, behind] = await Promise.all([command(['help', ...path]), command([...path, '--help'])])
    assert.deepEqual([by.code, by.stderr, by.stdout], [0, '', behind.stdout], path.join(' '))
  }
})

test('plantstore -v prints the same as --version', async () => {
  const [short, long] = await Promise.all([command(['-v']), command(['--version'])])
  assert.match(short.stdout, /^\d+\.\d+\.\d+\n$/)
  assert.deepEqual([short.code, short.stdout], [0, long.stdout])
})

test('plantstore openapi prints the contract that the service serves', async (t) => {
  const { code, stdout, stderr } = await command(['openapi'])
  assert.deepEqual([code, stderr], [0, ''])
  const { address } = await startServer(t, tempFolder(t))
  assert.deepEqual(JSON.parse(stdout), await (await fetch(`${address}/openapi.json`)).json())
})

test('the program refuses an old Node.js or SQLite in one line', async (t) => {
  const folder = tempFolder(t)
  const tooOld = [
    ...['20.19.5', '24.14.1', '9.0.0'].map((node) => ({ node })),
    { sqlite: '3.51.2' },
    { sqlite: '3.9.9' },
  ]
  for (const versions of tooOld) {
    const { code, stdout, stderr } = await run(t, ['serve'], { cwd: folder, nodeArgs: pretend(versions) })
    assert.match(stderr, /^plantstore needs Node\.js 24\.15 or newer .*\n$/)
    assert.ok(stderr.includes(Object.values(versions)[0] ?? ''), 'the line names the version found')
    assert.deepEqual([code, stdout], [2, ''])
  }
  assert.deepEqual(snapshot(folder), {})
})

test('a package packed from the sources names the command that makes a working one', (t) => {
  const bin = join(tempFolder(t), 'node_modules/plantstore/bin')
  mkdirSync(bin, { recursive: true })
  copyFileSync(new URL('../bin/plantstore.js', import.meta.url), join(bin, 'plantstore.mjs'))
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(bin, 'plantstore.mjs')], { encoding: 'utf8' })
  assert.match(stderr, /^plantstore: this package has the sources, [^\n]*"npm run package"[^\n]*\n$/)
  assert.deepEqual([status, stdout], [2, ''])
})

test('the program accepts the oldest supported Node.js and SQLite, and newer ones', async (t) => {
  for (const versions of [
    { node: '24.15.0', sqlite: '3.51.3' },
    { node: '30.0.0', sqlite: '4.0.0' },
  ]) {
    const { code, stdout } = await run(t, ['--version'], { nodeArgs: pretend(versions) })
    assert.equal(code, 0)
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  }
})

test('commands that import, export, copy and revoke print their result as JSON alone', async (t) => {
  const folder = tempFolder(t)
  const store = `sqlite:${join(folder, 'plants.db')}`
  const asked = (...args: string[]) => command(args, { cwd: folder, env: { PLANTSTORE_STORE: store } })
  const json = async (code: number, ...args: string[]): Promise<unknown> => {
    const done = await asked(...args, '--json')
    assert.equal(done.code, code, done.stderr)
    assert.doesNotMatch(done.stderr, /^done: /m)
    return JSON.parse(done.stdout)
  }
  writeFileSync(join(folder, 'a.csv'), 'id,name\n1,Fern\n1,Moss\n2,Ivy\n')
  const message = 'the id 1 belongs to a different plant; nothing was changed'
  const counts = { added: 2, updated: 0, unchanged: 0, refused: 1 }
  const refusedRows = [{ line: 3, error: 40901, message }]
  assert.deepEqual(await json(1, 'import', 'a.csv'), { dryRun: false, ...counts, refusedRows })
  const file = 'b.ndjson'
  assert.deepEqual(await json(0, 'export', file), { file, format: 'ndjson', gzip: false, plants: 2 })
  assert.equal(readFileSync(join(folder, file), 'utf8'), '{"id":1,"name":"Fern"}\n{"id":2,"name":"Ivy"}\n')
  const none = { added: 0, updated: 0, unchanged: 2, refused: 0, refusedRows: [] }
  assert.deepEqual(await json(0, 'import', file, '--dry-run'), { dryRun: true, ...none })
  const { stdout } = await asked('token', 'create', '--name', 'x', '--json')
  const { id } = JSON.parse(stdout) as { id: string }
  const to = `sqlite:${join(folder, 'copy.db')}`
  const { checksum, ...copied } = (await json(0, 'copy', '--from', store, '--to', to)) as Record<string, unknown>
  assert.match(String(checksum), /^[0-9a-f]{32}$/)
  const added = { added: 2, unchanged: 0, refused: 0, tokens: 1, revoked: 0 }
  assert.deepEqual(copied, { from: store, to, plants: 2, ...added })
  assert.deepEqual(await json(0, 'token', 'revoke', id), { revoked: id })
  const wrong = await asked('export', '-', '--format', 'csv', '--json')
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /--json: standard output gets the plants; name a file/)
})
