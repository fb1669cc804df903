import assert from 'node:assert/strict'
import {
  closeSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { auditFile } from '../src/cli/log.ts'
import { cleanUp } from './support/clean-up.ts'
import { command } from './support/commands.ts'
import { tempFolder } from './support/files.ts'
import { plantBody, send } from './support/load.ts'
import { isLinux, notTestedHere, runs } from './support/not-tested.ts'
import { run, startServer } from './support/process.ts'
import { until } from './support/until.ts'

type Line = Readonly<Record<string, unknown>>

const linesIn = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.includes('"msg":"audit"'))
    .map((line) => JSON.parse(line) as Line)

const linesOf = (path: string): Line[] => (existsSync(path) ? linesIn(readFileSync(path, 'utf8')) : [])

const plantsOf = (lines: readonly Line[]) => lines.map(({ plant }) => plant)

const contentOf = (path: string) => (existsSync(path) ? readFileSync(path) : undefined)

const create = (address: string, id: number) =>
  send('POST', `${address}/plants`, { body: plantBody(BigInt(id), { name: 'Fern', tag: undefined }) })

suite('plantstore serve', () => {
  test('writes the audit log to a private file, reopens it on SIGHUP, and writes all lines before it ends', async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, 'audit.log')
    const { program, address } = await startServer(t, folder, [
      '--audit-log',
      path,
      '--drain-window',
      '0s',
      '--log-level',
      'warn',
    ])
    await create(address, 1)
    await until(() => linesOf(path).length === 1, 'no line is written')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    renameSync(path, `${path}.1`)
    program.signal('SIGHUP')
    await until(() => existsSync(path), 'the file is not made again')
    await create(address, 2)
    await until(() => linesOf(path).length === 1, 'no line is written to the new file')
    // As logrotate does with `create`.
    renameSync(path, `${path}.2`)
    writeFileSync(path, '', { mode: 0o600 })
    program.signal('SIGHUP')
    await program.tells(/(?:read the configuration again[\s\S]*){2}/)
    await create(address, 3)
    await program.ends()
    const plants = [`${path}.1`, `${path}.2`, path].map((file) => plantsOf(linesOf(file)))
    assert.deepEqual(plants, [['1'], ['2'], ['3']])
  })

  test('writes the audit log to standard error at the level info, unless it is off', async (t) => {
    const cases = [
      [['--log-level', 'info'], ['1']],
      [['--log-level', 'warn'], []],
      [['--log-level', 'info', '--audit-log', 'off'], []],
    ] as const
    for (const [flags, expected] of cases) {
      const { program, address } = await startServer(t, tempFolder(t), [...flags, '--drain-window', '0s'])
      await create(address, 1)
      await program.ends()
      assert.deepEqual(plantsOf(linesIn(program.stderr)), expected, flags.join(' '))
    }
  })

  test('keeps the old file if it cannot open the new one on SIGHUP, and says so', async (t) => {
    const folder = tempFolder(t)
    const [logs, away] = [join(folder, 'logs'), join(folder, 'away')]
    mkdirSync(logs)
    const flags = ['--audit-log', join(logs, 'audit.log'), '--drain-window', '0s']
    const { program, address } = await startServer(t, folder, flags)
    renameSync(logs, away)
    program.signal('SIGHUP')
    await program.tells(/the audit log could not be opened again/)
    await create(address, 1)
    await program.ends()
    assert.deepEqual(plantsOf(linesOf(join(away, 'audit.log'))), ['1'])
  })

  test('refuses to start if it cannot open the audit log', async (t) => {
    const folder = tempFolder(t)
    const pipe = join(folder, 'pipe')
    const loop = join(folder, 'loop')
    symlinkSync(loop, loop)
    const cases: [string, RegExp][] = [
      [loop, /its symbolic links form a loop/],
      [folder, /it is a folder/],
      [join(folder, 'absent', 'audit.log'), /there is no such file or folder/],
      [join(folder, 'a'.repeat(256)), /the name is too long/],
      [join(folder, 'absent/'), /it is a folder/],
    ]
    if (runs('mkfifo', pipe)) cases.push([pipe, /a pipe without a reader/])
    for (const [i, [path, reason]] of cases.entries()) {
      const store = join(folder, 'plants.db')
      const flags = ['--store', `sqlite:${store}`, '--audit-log', path]
      const tries = [await command(['token', 'create', '--name', 'x', ...flags])]
      if (i === 0) tries.push(await run(t, ['serve', '--port', '0', ...flags]))
      for (const { code, stderr } of tries) {
        assert.equal(code, 1, stderr)
        assert.match(stderr, reason)
        assert.equal(existsSync(store), false)
      }
    }
  })

  test('refuses to append the audit log to a store, a file beside a store or any other file', async (t) => {
    const folder = tempFolder(t)
    const { program, storePath } = await startServer(t, folder)
    await program.ends()
    const notes = join(folder, 'notes.txt')
    writeFileSync(notes, 'mine')
    const link = join(folder, 'link')
    symlinkSync(storePath, link)
    // The last two exist only while the service runs.
    for (const path of [storePath, link, notes, `${storePath}-index`, `${storePath}-index-wal`, `${storePath}-wal`]) {
      const before = contentOf(path)
      const flags = ['--store', `sqlite:${storePath}`, '--audit-log', path]
      const refusals = [await command(['token', 'create', '--name', 'x', ...flags])]
      if (path === storePath) refusals.push(await run(t, ['serve', '--port', '0', ...flags]))
      for (const { code, stderr } of refusals) {
        assert.deepEqual(
          [code, stderr],
          [1, `plantstore: ${path}: has other content than an audit log; choose another file\n`],
        )
      }
      assert.deepEqual(contentOf(path), before)
    }
  })
})

suite('a command', () => {
  const USER = userInfo().username

  async function commandLines(folder: string, args: readonly string[]): Promise<Line[]> {
    const path = join(folder, 'audit.log')
    const before = linesOf(path).length
    const env = { PLANTSTORE_STORE: `sqlite:${join(folder, 'plants.db')}`, PLANTSTORE_AUDIT_LOG: path }
    const { code, stderr } = await command(args, { env, cwd: folder })
    assert.equal(code, 0, stderr)
    assert.deepEqual(linesIn(stderr), [])
    return linesOf(path)
      .slice(before)
      .map(({ time: _time, level: _level, msg: _msg, ...rest }) => rest)
  }

  test('leaves lines about the tokens, plants and stores that it changes', async (t) => {
    const folder = tempFolder(t)
    const lines = (...args: string[]) => commandLines(folder, args)
    const by = (name: string) => ({ token: `command:${name}`, tokenName: `plantstore ${name}`, user: USER })
    const [created = {}] = await lines('token', 'create', '--name', 'Kew', '--expires', '2999-01-01')
    const id = String(created['created'])
    assert.match(id, /^tok_\w{11}$/)
    assert.deepEqual(created, {
      operation: 'createToken',
      outcome: 'created',
      created: id,
      createdName: 'Kew',
      scopes: ['plants:read', 'plants:write'],
      expiresAt: '2999-01-01T00:00:00.000Z',
      ...by('token'),
    })
    assert.deepEqual(await lines('token', 'revoke', id), [
      { operation: 'revokeToken', outcome: 'revoked', revoked: id, ...by('token') },
    ])
    assert.deepEqual(await lines('token', 'list'), [])

    const store = `sqlite:${join(folder, 'plants.db')}`
    writeFileSync(join(folder, 'a.csv'), 'id,name\n1,Fern\n2,Moss\n')
    const none = { added: 0, updated: 0, unchanged: 0, refused: 0 }
    const imported = { operation: 'importPlants', store, mode: 'add', ...by('import') }
    assert.deepEqual(await lines('import', 'a.csv', '--dry-run'), [])
    assert.deepEqual(await lines('import', 'a.csv'), [
      { ...imported, outcome: 'began', ...none },
      { ...imported, outcome: 'imported', ...none, added: 2 },
    ])
    const to = `sqlite:${join(folder, 'copy.db')}`
    const copied = { operation: 'copyStore', from: store, to, ...by('copy') }
    const nothing = { added: 0, unchanged: 0, refused: 0, tokens: 0, revoked: 0 }
    assert.deepEqual(await lines('copy', '--from', store, '--to', to), [
      { ...copied, outcome: 'began', ...nothing },
      { ...copied, outcome: 'copied', ...nothing, added: 2, tokens: 1 },
    ])
    assert.deepEqual(await lines('backup', 'backup.db'), [])
    const [restored = {}] = await lines('restore', 'backup.db', '--replace')
    const { kept, ...rest } = restored
    assert.match(String(kept), /plants\.db\.replaced-/)
    assert.deepEqual(rest, {
      operation: 'restoreStore',
      outcome: 'restored',
      store: join(folder, 'plants.db'),
      plants: 2,
      tokens: 1,
      file: 'backup.db',
      ...by('restore'),
    })
  })

  test('changes nothing if it cannot open the audit log, and by default writes to standard error', async (t) => {
    const folder = tempFolder(t)
    const store = ['--store', `sqlite:${join(folder, 'plants.db')}`]
    const makeToken = ['token', 'create', '--name', 'Kew', ...store]
    const refused = await run(t, [...makeToken, '--audit-log', folder])
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /it is a folder/)
    assert.equal(existsSync(join(folder, 'plants.db')), false)
    const { stdout, stderr } = await run(t, makeToken)
    const [line] = linesIn(stderr)
    assert.deepEqual([line?.['operation'], line?.['createdName']], ['createToken', 'Kew'])
    assert.ok(!stderr.includes(stdout.trim()))
    assert.deepEqual(linesIn((await run(t, [...makeToken, '--audit-log', 'off'])).stderr), [])
  })

  test('says that it could not write its line after it has done its work', async (t) => {
    if (!isLinux) return notTestedHere(t, 'a full disk, because there is no /dev/full')
    const store = ['--store', `sqlite:${join(tempFolder(t), 'plants.db')}`]
    const { code, stdout, stderr } = await run(t, [
      'token',
      'create',
      '--name',
      'x',
      ...store,
      '--audit-log',
      '/dev/full',
    ])
    assert.equal(code, 0)
    assert.match(stdout, /^ps_/)
    assert.match(stderr, /the audit log cannot be written \(ENOSPC.*\): \{.*"createToken"/)
  })
})

test('a file that is moved away before the first line of the audit log gets none', (t) => {
  const path = join(tempFolder(t), 'audit.log')
  writeFileSync(path, '{}\n')
  const open = auditFile(path, []) ?? assert.fail()
  renameSync(path, `${path}.1`)
  const file = open()
  cleanUp(t, () => closeSync(file))
  writeSync(file, '{"msg":"audit"}\n')
  const found = [path, `${path}.1`].map((name) => readFileSync(name, 'utf8'))
  assert.deepEqual(found, ['{"msg":"audit"}\n', '{}\n'])
})

test('a start without a terminal leaves a line about the first token in the audit log', async (t) => {
  const folder = tempFolder(t)
  const { program } = await startServer(t, folder, ['--drain-window', '0s', '--log-level', 'info'], {
    env: { PLANTSTORE_TOKEN: '' },
  })
  await program.ends()
  const [line] = linesIn(program.stderr)
  assert.deepEqual(
    [line?.['operation'], line?.['createdName'], line?.['token']],
    ['createToken', 'operator', 'command:serve'],
  )
  assert.ok(!program.stderr.includes(readFileSync(join(folder, 'plants.db.first-token'), 'utf8').trim()))
})
