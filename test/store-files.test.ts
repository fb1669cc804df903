import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { NewPlant } from '../src/domain/plant.ts'
import { openExclusive, openReader, openWriter } from '../src/sqlite/connection.ts'
import { TESTER } from './support/actor.ts'
import { cleanUp } from './support/clean-up.ts'
import { createPlant } from './support/create-plant.ts'
import { fails, isIntact, plantsIn, snapshot, tempFolder } from './support/files.ts'
import { Load, send } from './support/load.ts'
import { isLinux, isRoot, notTestedHere, runs } from './support/not-tested.ts'
import { openSqlite, storeAt } from './support/open-sqlite.ts'
import { run, type Server, startServer } from './support/process.ts'
import { inFile } from './support/sqlite-indexes.ts'
import { importAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { settled } from './support/until.ts'
import { wholeFile } from './support/whole-file.ts'

/** How commands open a store which no service has open. */
const WAYS = [
  { serving: true, create: true },
  { serving: false, create: true },
  { serving: false, create: false },
]

/** Checks that nothing opens the store, and that no file changes. */
async function assertRefused(folder: string, path: string, why: RegExp): Promise<void> {
  const before = snapshot(folder)
  for (const way of WAYS) {
    await assertNotServed(path, why, way)
    assert.deepEqual(snapshot(folder), before)
  }
}

/** Checks that a service refuses to open a store, or that it is not opened in another way. */
async function assertNotServed(path: string, why: RegExp, way = WAYS[0]): Promise<void> {
  // A store that opens all the same would keep the process from ending.
  const closed = storeAt(path, way).then((store) => store.close())
  await assert.rejects(closed, fails(why))
}

interface Written {
  readonly path: string
  readonly plants: readonly NewPlant[]
}

/** Opens the store in a folder, creates plants in two commits, and closes it, or leaves its files as a crash would. */
async function write(
  folder: string,
  first: number,
  end: 'crash' | 'close',
  meanwhile: (path: string) => void = () => {},
): Promise<Written> {
  const path = join(folder, 'plants.db')
  const store = await storeAt(path)
  const plants = Array.from({ length: 100 }, (_, i) => plant(BigInt(first + i), `plant ${i}`))
  await importAll(store, plants.slice(0, 50))
  meanwhile(path)
  await importAll(store, plants.slice(50))
  const files = ['', '-wal', '-shm'].map((suffix) => path + suffix)
  // Another process copies, because closing a file of the open store would drop the locks of this process.
  if (end === 'crash') for (const file of files) execFileSync('cp', [file, `${file}.kept`])
  await store.close()
  if (end === 'crash') for (const file of files) renameSync(`${file}.kept`, file)
  else assert.ok(!existsSync(`${path}-wal`), 'its log is checkpointed')
  return { path, plants }
}

/** Opens the store as a service does, and checks that it has all the plants. */
async function assertOpens({ path, plants }: Written): Promise<void> {
  const store = await storeAt(path, { create: false })
  const stored = plantsIn(path)
  const found = plants.filter(({ id, name }) => stored.get(id)?.name !== name)
  assert.deepEqual(found, [], 'plants are lost or changed')
  await store.close()
}

test('a log without its store is refused, and loses nothing once the file is back', async (t) => {
  const folder = tempFolder(t)
  const written = await write(folder, 0, 'crash')
  const { path } = written
  const away = join(tempFolder(t), 'plants.db')
  copyFileSync(path, away)
  rmSync(path)
  const why = /the file is missing, but \S+-wal and \S+-shm may hold its newest plants; put the file back/
  await assertRefused(folder, path, why)
  const before = snapshot(folder)
  const { code, stdout, stderr } = await run(t, ['token', 'list', '--store', `sqlite:${path}`])
  assert.match(stderr, /^plantstore: store [^\n]+\n$/)
  assert.match(stderr, why)
  assert.deepEqual([code, stdout], [1, ''])
  assert.deepEqual(snapshot(folder), before)
  copyFileSync(away, path)
  await assertOpens(written)
})

test('a journal or an index of a log without its store is refused too', async (t) => {
  for (const suffix of ['-journal', '-shm', '-wal']) {
    const folder = tempFolder(t)
    const path = join(folder, 'plants.db')
    writeFileSync(path + suffix, '')
    await assertRefused(folder, path, new RegExp(`the file is missing, but \\S+${suffix} may hold its newest plants`))
  }
})

test('a rollback journal beside a store is refused', async (t) => {
  const folder = tempFolder(t)
  const { path } = await write(folder, 0, 'close')
  writeFileSync(`${path}-journal`, 'd9d505f920a163d7')
  await assertRefused(folder, path, /plants.db-journal is not from this program/)
})

test('the log of another store is refused', async (t) => {
  const [folder, other] = [tempFolder(t), tempFolder(t)]
  const { path } = await write(folder, 0, 'close')
  const { path: otherPath } = await write(other, 1_000_000, 'crash')
  copyFileSync(`${otherPath}-wal`, `${path}-wal`)
  await assertRefused(folder, path, /the log \S+-wal belongs to another file; put that file back/)
})

const vacuumInto = (path: string, backup: string) => inFile(path, (db) => db.exec(`VACUUM INTO '${backup}'`))

/** Ways to make a backup without `plantstore backup`. */
const BACKUPS: Readonly<Record<string, (path: string, backup: string) => void>> = {
  'VACUUM INTO': vacuumInto,
  'a copy of a closed store': (path, backup) => copyFileSync(path, backup),
}

for (const [way, makeBackup] of Object.entries(BACKUPS)) {
  test(`a backup (${way}) beside a later log is refused, and opens without that log`, async (t) => {
    const folder = tempFolder(t)
    const backup = join(tempFolder(t), 'backup.db')
    const written = await write(folder, 0, 'close')
    const { path } = written
    makeBackup(path, backup)
    await write(folder, 1_000_000, 'close')
    await write(folder, 2_000_000, 'crash')
    copyFileSync(backup, path)
    await assertRefused(folder, path, /move the log away if you restored a backup/)
    rmSync(`${path}-wal`)
    rmSync(`${path}-shm`)
    await assertOpens(written)
    assert.ok(isIntact(path))
  })
}

test('a backup of a served store beside the log of its time is refused', async (t) => {
  const folder = tempFolder(t)
  const backup = join(tempFolder(t), 'backup.db')
  const { path } = await write(folder, 0, 'crash', (store) => vacuumInto(store, backup))
  copyFileSync(backup, path)
  await assertRefused(folder, path, /the log \S+-wal belongs to another file/)
})

test('a newer store beside an old log is refused', async (t) => {
  const folder = tempFolder(t)
  const { path } = await write(folder, 0, 'crash')
  const old = join(tempFolder(t), 'old-wal')
  copyFileSync(`${path}-wal`, old)
  await write(folder, 1_000_000, 'close')
  copyFileSync(old, `${path}-wal`)
  await assertRefused(folder, path, /the log \S+-wal belongs to another file/)
})

test('a truncated store is reported as truncated, even beside its log', async (t) => {
  const folder = tempFolder(t)
  const { path } = await write(folder, 0, 'crash')
  const whole = readFileSync(path)
  for (const size of [10, 100, 4000, 4096, whole.length - 1]) {
    writeFileSync(path, whole.subarray(0, size))
    await assertRefused(folder, path, new RegExp(`the file is truncated to ${size} bytes`))
  }
})

test('a start through a dangling symbolic link creates the store at the target', async (t) => {
  const [folder, links] = [tempFolder(t), tempFolder(t)]
  const path = join(folder, 'plants.db')
  symlinkSync(path, join(links, 'second'))
  symlinkSync('second', join(links, 'plants.db'))
  const umask = ['sh', '-c', 'umask 0; exec "$0" "$@"']
  const { program, address } = await startServer(t, links, ['--drain-window', '0s'], { under: umask })
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  assert.match(snapshot(folder)['plants.db.lock'] ?? '', /mode 600/)
  assert.deepEqual(Object.keys(snapshot(links)), ['plants.db', 'second'])
  await program.ends()
  assert.match(snapshot(folder)['plants.db'] ?? '', /mode 600/)
  await assertOpens({ path: join(links, 'plants.db'), plants: [plant(1n, 'a')] })
})

test('circular symbolic links, and links into a missing folder, are refused', async (t) => {
  const folder = tempFolder(t)
  const paths = ['a.db', 'b.db', 'c.db'].map((name) => join(folder, name))
  const [a = '', b = '', c = ''] = paths
  symlinkSync(b, a)
  symlinkSync(a, b)
  symlinkSync(join(folder, 'missing/plants.db'), c)
  for (const [path, why] of [
    [a, /its symbolic links form a loop/],
    [c, /the folder \S+missing does not exist/],
  ] as const) {
    await assertNotServed(path, why)
  }
})

/** The server that the tests of a second one share. */
let first: Promise<Server> | undefined
const firstServer = (): Promise<Server> => {
  first ??= startServer(wholeFile, tempFolder(wholeFile))
  return first
}

test('a second server on any name of a served file is refused, and the first one continues', async (t) => {
  const elsewhere = tempFolder(t)
  const { address, storePath } = await firstServer()
  const refusals = async (name: string, why: RegExp) => {
    await assertNotServed(join(elsewhere, name), why)
    assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
  }
  symlinkSync(storePath, join(elsewhere, 'symbolic.db'))
  await refusals('symbolic.db', /another service already serves it/)
  symlinkSync(dirname(storePath), join(elsewhere, 'folder'))
  await refusals('folder/plants.db', /another service already serves it/)
  linkSync(storePath, join(elsewhere, 'hard.db'))
  await refusals('hard.db', /the file has 2 names \(hard links\)/)
  rmSync(join(elsewhere, 'hard.db'))
  assert.ok(!existsSync(join(elsewhere, 'hard.db-wal')) && !existsSync(join(elsewhere, 'hard.db.lock')))
})

test('a start serves a store that a crash during its creation left with a second name', async (t) => {
  const folder = tempFolder(t)
  const written = await write(folder, 0, 'close')
  linkSync(written.path, `${written.path}.new-1-0123abcd`)
  await assertOpens(written)
})

test('a second server on another mount of the file is refused', async (t) => {
  const mounted = join(tempFolder(t), 'plants.db')
  const { address, storePath } = await firstServer()
  writeFileSync(mounted, '')
  if (!(isRoot && isLinux && runs('mount', '--bind', storePath, mounted))) {
    return notTestedHere(t, 'a file that is mounted elsewhere, because nothing can be mounted')
  }
  cleanUp(t, () => void runs('umount', '--lazy', mounted))
  await assertNotServed(mounted, /another process has the file open under another name/)
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })).status, 200)
})

test('a store whose file alone is mounted is warned of at the start', async (t) => {
  const { path: storePath } = await write(tempFolder(t), 0, 'close')
  const mounted = join(tempFolder(t), 'plants of a\\b.db')
  writeFileSync(mounted, '')
  if (!(isRoot && isLinux && runs('mount', '--bind', storePath, mounted))) {
    return notTestedHere(t, 'a file that is mounted by itself, because nothing can be mounted')
  }
  cleanUp(t, () => void runs('umount', '--lazy', mounted))
  const notices: string[] = []
  const open = (path: string) =>
    storeAt(path, { serving: false, create: false, onNotice: (text) => notices.push(text) })
  await (await open(storePath)).close()
  assert.deepEqual(notices, [])
  await (await open(mounted)).close()
  assert.match(notices.join(), /is mounted by itself, .* mount its folder instead$/)
})

function replaceByNothing(path: string): void {
  renameSync(path, `${path}.old`)
  writeFileSync(path, '')
}

function replaceByLoop(path: string): void {
  renameSync(path, `${path}.old`)
  symlinkSync(path, path)
}

test('no connection makes a file where a store was moved away', (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'a b?c%20#d.db')
  for (const open of [openReader, openWriter, openExclusive]) {
    assert.throws(() => open(path)?.prepare('SELECT count(*) FROM sqlite_schema').all(), /unable to open database file/)
    assert.deepEqual(snapshot(folder), {}, open.name)
  }
})

const GONE = /was removed or replaced while it was in use/

for (const [what, suffix, harm, why] of [
  ['its file is removed', '', rmSync, GONE],
  ['its file is replaced', '', replaceByNothing, GONE],
  ['its log is replaced', '-wal', replaceByNothing, GONE],
  ['its log becomes a loop of links', '-wal', replaceByLoop, /cannot be reached any more/],
  ['the index of its log is removed', '-shm', rmSync, GONE],
] as const) {
  test(`a store acknowledges nothing more and reports when ${what}`, async (t) => {
    const path = join(tempFolder(t), 'plants.db')
    const fatal = Promise.withResolvers<Error>()
    const { store } = await openSqlite(t, { path, onFatal: fatal.resolve })
    await importAll(store, [plant(1n)])
    harm(path + suffix)
    const error = await settled(fatal.promise, 'the store goes on')
    assert.ok(error.message.includes(`the file ${path}${suffix} `), error.message)
    assert.match(error.message, why)
    await assert.rejects(createPlant(store, plant(2n)), refusal(50301))
    await assert.rejects(store.importPlants([plant(3n)], 'add', TESTER), refusal(50301))
  })
}

test('the service acknowledges nothing more and exits when the log of its store is removed', async (t) => {
  const { program, address, storePath } = await startServer(t, tempFolder(t))
  const load = new Load(address)
  await load.reaches(50)
  rmSync(`${storePath}-wal`)
  const harmedAt = performance.now()
  await load.done
  const seconds = (performance.now() - harmedAt) / 1000
  const { code, stderr } = await program.outcome
  assert.match(stderr, /the file \S+plants.db-wal was removed or replaced while it was in use/)
  assert.equal(code, 1)
  assert.ok(seconds < 10, `the service continued for ${seconds} s`)
})
