import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanUp } from './support/clean-up.ts'
import { command } from './support/commands.ts'
import { fails, snapshot, tempFolder } from './support/files.ts'
import { freePort } from './support/free-port.ts'
import { send } from './support/load.ts'
import { isLinux, isRoot, notTestedHere, runs } from './support/not-tested.ts'
import { storeAt } from './support/open-sqlite.ts'
import { run, startServer, TOKEN } from './support/process.ts'
import { inFile } from './support/sqlite-indexes.ts'

const THESIS = 'my thesis '.repeat(1000)

/** Makes a store. */
async function madeStore(t: TestContext): Promise<{ folder: string; path: string }> {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  await (await open(path, true)).close()
  return { folder, path }
}

const open = (path: string, serving: boolean) => storeAt(path, { serving })

/** Changes a database as another program does, or makes one. */
const changeDatabase = (path: string, sql: string) => inFile(path, (db) => db.exec(sql))

/** Checks that neither a service nor a command opens the store, and that no file changes. */
async function assertRefused(folder: string, path: string, why: RegExp): Promise<void> {
  const before = snapshot(folder)
  for (const serving of [true, false]) {
    // A store that opens all the same would keep the process from ending.
    const opening = open(path, serving).then((store) => store.close())
    await assert.rejects(opening, fails(why))
    assert.deepEqual(snapshot(folder), before)
  }
}

/** Checks that a start fails, and prints one line with the store and the reason. */
async function assertStartFails(t: TestContext, folder: string, path: string, why: RegExp): Promise<void> {
  const before = snapshot(folder)
  const { code, stdout, stderr } = await run(t, ['serve', '--port', '0', '--store', `sqlite:${path}`])
  assert.match(stderr, /^plantstore: [^\n]+\n$/, 'one line')
  assert.match(stderr, why)
  assert.ok(stderr.includes(path), 'the line names the store')
  assert.equal(stdout, '')
  assert.equal(code, 1)
  assert.deepEqual(snapshot(folder), before)
}

const NO_STORES: readonly (readonly [what: string, make: (path: string) => void, why: RegExp])[] = [
  ['a file that is not a database', (path) => writeFileSync(path, THESIS), /it is not a SQLite database/],
  [
    'the SQLite database of another program',
    (path) => changeDatabase(path, 'CREATE TABLE plants (id INTEGER PRIMARY KEY); INSERT INTO plants VALUES (1)'),
    /it is a SQLite database, but not a plant store/,
  ],
  ['an empty file', (path) => writeFileSync(path, ''), /the file is empty/],
  ['a folder in place of the store', (path) => mkdirSync(path), /it is not a file/],
]
for (const [what, make, why] of NO_STORES) {
  test(`the start refuses ${what}, and leaves it unchanged`, async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, 'plants.db')
    make(path)
    await assertRefused(folder, path, why)
  })
}

test('a service that refuses its store prints one line, with the store and the reason', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  writeFileSync(path, THESIS)
  await assertStartFails(t, folder, path, /it is not a SQLite database/)
})

test('the start refuses a store in a missing folder, and does not create the folder', async (t) => {
  const folder = tempFolder(t)
  await assertRefused(folder, join(folder, 'missing', 'plants.db'), /the folder .*missing does not exist/)
})

test('the start refuses a store whose first page is overwritten after the header, and leaves no lock', async (t) => {
  const { folder, path } = await madeStore(t)
  rmSync(`${path}.lock`)
  const bytes = readFileSync(path)
  bytes.fill(0xa5, 100, 4096)
  writeFileSync(path, bytes)
  await assertRefused(folder, path, /malformed/)
})

test('the start refuses a store of a newer program or with another schema', async (t) => {
  const { folder, path } = await madeStore(t)
  changeDatabase(path, "INSERT INTO migrations VALUES (999999, 'from the future')")
  await assertRefused(folder, path, /schema 999999, newer than this program's \d+; update/)
  changeDatabase(
    path,
    "DELETE FROM migrations WHERE number = 999999; UPDATE migrations SET checksum = 'x' WHERE number = 1",
  )
  await assertRefused(folder, path, /a development version made it; export its plants with that version/)
})

test('neither a service nor a command makes a file before the store is accepted', async (t) => {
  const { folder, path } = await madeStore(t)
  changeDatabase(path, "UPDATE migrations SET checksum = 'x'")
  for (const [name, bytes] of [
    ['foreign.db', THESIS],
    ['empty.db', ''],
    ['truncated.db', readFileSync(path).subarray(0, 8192)],
    ['plants.csv', 'id,name\n1,a\n'],
  ] as const) {
    writeFileSync(join(folder, name), bytes)
  }
  const before = snapshot(folder)
  const commands = [
    ['token', 'create', '--name', 'Kew'],
    ['token', 'list'],
    ['token', 'rotate', 'tok_4bXm09TzQ1r'],
    ['token', 'revoke', 'tok_4bXm09TzQ1r'],
    ['import', 'plants.csv'],
    ['import', 'plants.csv', '--dry-run'],
    ['export', 'new.csv'],
    ['delete', '--q', 'a', '--yes'],
    ['restore', 'foreign.db'],
    ['check'],
    ['status'],
  ]
  const env = { PLANTSTORE_AUDIT_LOG: 'audit.log' }
  const assertNothingMade = async (args: readonly string[]) => {
    const { code, stderr } = await (args[0] === 'serve'
      ? run(t, args, { cwd: folder, env })
      : command(args, { cwd: folder, env }))
    // A check of a damaged store reports it on standard output.
    assert.equal(code, 1, `${args.join(' ')}: ${stderr}`)
    assert.deepEqual(snapshot(folder), before, args.join(' '))
  }
  await assertNothingMade(['serve', '--port', '0', '--store', 'sqlite:foreign.db'])
  const stores = ['plants.db', 'foreign.db', 'empty.db', 'truncated.db', 'missing/plants.db']
  for (const name of stores) {
    const store = `sqlite:${name}`
    for (const args of commands) await assertNothingMade([...args, '--store', store])
    // A backup takes a store of any version.
    if (name !== 'plants.db') await assertNothingMade(['backup', 'new.db', '--store', store])
    await assertNothingMade(['copy', '--from', store, '--to', 'sqlite:new.db'])
    await assertNothingMade(['copy', '--from', 'sqlite:absent.db', '--to', store])
  }
})

test('the start refuses a store on a read-only file system', async (t) => {
  const { folder, path } = await madeStore(t)
  const mountPoint = join(tempFolder(t), 'read-only')
  mkdirSync(mountPoint)
  if (isRoot && isLinux && runs('mount', '--bind', folder, mountPoint)) {
    cleanUp(t, () => void execFileSync('umount', [mountPoint]))
    execFileSync('mount', ['-o', 'remount,bind,ro', mountPoint])
    await assertRefused(mountPoint, join(mountPoint, 'plants.db'), /can't be written/)
    await assertRefused(mountPoint, join(mountPoint, 'new.db'), /can't be written/)
    await assertStartFails(t, mountPoint, join(mountPoint, 'new.db'), /can't be written/)
  } else {
    // Root may write everywhere except on a read-only mount.
    if (isRoot) return notTestedHere(t, 'a read-only file system, because this root may not mount one')
    chmodSync(path, 0o400)
    await assertRefused(folder, path, /can't be written/)
    chmodSync(path, 0o600)
    chmodSync(folder, 0o500)
    cleanUp(t, () => chmodSync(folder, 0o700))
    await assertRefused(folder, path, /can't be written/)
  }
})

test('a second server on the same store fails to start, and the first one continues', async (t) => {
  const folder = tempFolder(t)
  const { address, storePath } = await startServer(t, folder)
  const audit = join(folder, 'audit.log')
  const args = ['serve', '--port', '0', '--store', `sqlite:${storePath}`, '--audit-log', audit]
  const { code, stdout, stderr } = await run(t, args)
  assert.match(stderr, /^plantstore: store \S+: another service already serves it; stop that service first\n$/)
  assert.deepEqual([code, stdout, existsSync(audit)], [1, '', false])
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
})

test('a server starts on the store of a killed server', async (t) => {
  const folder = tempFolder(t)
  await (await startServer(t, folder)).program.kill()
  const { address } = await startServer(t, folder)
  assert.equal((await send('GET', `${address}/health/ready`)).status, 200)
})

test('a start on a used port fails in one line, and creates or changes no store', async (t) => {
  const occupier = createServer()
  await new Promise<void>((resolve) => occupier.listen(0, '127.0.0.1', resolve))
  cleanUp(t, () => void occupier.close())
  const { port } = occupier.address() as AddressInfo
  const { folder, path } = await madeStore(t)
  const before = snapshot(folder)
  for (const store of [path, join(folder, 'new.db')]) {
    const { code, stdout, stderr } = await run(t, ['serve', '--port', `${port}`, '--store', `sqlite:${store}`])
    assert.match(
      stderr,
      new RegExp(
        `^plantstore: can't listen on 127.0.0.1 port ${port}: the port is in use; --port chooses another one\n$`,
      ),
    )
    assert.deepEqual([code, stdout], [1, ''])
    assert.deepEqual(snapshot(folder), before)
  }
})

test('a start that a setting refuses creates no store and no other file', async (t) => {
  const folder = tempFolder(t)
  for (const name of ['notes.pem', 'hook.sh']) writeFileSync(join(folder, name), 'mine', { mode: 0o600 })
  mkdirSync(join(folder, 'backups'))
  const before = snapshot(folder)
  const port = String(await freePort())
  const backups = ['--backup-every', '24h', '--backup-folder']
  const refused: readonly (readonly [readonly string[], RegExp])[] = [
    [['--public-url', 'https://example.org/plants'], /^plantstore: --public-url: the service has paths of its own/],
    [['--tls-cert', 'absent.pem', '--tls-key', 'notes.pem'], /--tls-cert: absent.pem: /],
    [['--tls-cert', 'notes.pem', '--tls-key', 'notes.pem'], /--tls-cert: notes.pem: has no certificate in PEM/],
    [['--host', '192.0.2.1'], /can't listen on 192.0.2.1/],
    [['--port', port, '--metrics-port', port], /can't listen on 127.0.0.1 port \d+: .*; --metrics-port chooses/],
    [[...backups, 'absent'], /backup folder absent: it does not exist/],
    [[...backups, 'notes.pem'], /backup folder notes.pem: it is not a folder/],
    [[...backups, 'backups', '--backup-hook', 'absent'], /backup hook absent: it does not exist/],
    [[...backups, 'backups', '--backup-hook', 'backups'], /backup hook backups: it is not a file/],
    [[...backups, 'backups', '--backup-hook', 'hook.sh'], /backup hook hook.sh: this user may not execute it/],
    [['--backup-hook', 'hook.sh'], /--backup-hook: needs --backup-every/],
    [['--config', 'absent.conf'], /absent.conf/],
  ]
  for (const [args, why] of refused) {
    const files = ['--store', 'sqlite:plants.db', '--audit-log', 'audit.log']
    const { code, stdout, stderr } = await run(t, ['serve', '--port', '0', ...files, ...args], { cwd: folder })
    assert.match(stderr, why)
    assert.ok(code === 1 || code === 2, stderr)
    assert.deepEqual([stdout, snapshot(folder)], ['', before], stderr)
  }
})

test('a start with a wrong configuration creates no store, and prints no token', async (t) => {
  const folder = tempFolder(t)
  const { code, stdout, stderr } = await run(t, ['serve', '--port', '70000', '--store', `sqlite:${folder}/plants.db`], {
    env: { PLANTSTORE_TOKEN: `${TOKEN} with spaces`, PLANTSTORE_LOG_LEVEL: 'loud' },
  })
  assert.deepEqual([code, stdout], [2, ''])
  for (const name of ['--port', 'PLANTSTORE_TOKEN', 'PLANTSTORE_LOG_LEVEL']) {
    assert.match(stderr, new RegExp(`^plantstore: ${name}: .+$`, 'm'))
  }
  assert.ok(!stderr.includes(TOKEN))
  assert.deepEqual(snapshot(folder), {})
})
