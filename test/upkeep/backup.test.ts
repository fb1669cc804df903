import assert from 'node:assert/strict'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { makeBackup } from '../../src/sqlite/upkeep/backup.ts'
import { cleanUp } from '../support/clean-up.ts'
import { command } from '../support/commands.ts'
import { fails, isIntact, plantsIn, snapshot, tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux, isRoot, notTestedHere, runs } from '../support/not-tested.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { run, startServer } from '../support/process.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { hasStrace, tracing } from '../support/strace.ts'

/** A closed store with `plants` plants, whose names begin with `nameLength` characters. */
async function storeWith(t: TestContext, plants: number, nameLength = 10): Promise<string> {
  const { path, store } = await openSqlite(t, { serving: false })
  const name = 'x'.repeat(nameLength)
  await importMany(store, plants, (i) => plant(BigInt(i), `${name}${i}`))
  await store.close()
  return path
}

test('a backup contains the store of one moment, however much other clients write', async (t) => {
  const path = await storeWith(t, 2500, 4000)
  const before = plantsIn(path)
  const writer = new DatabaseSync(path)
  cleanUp(t, () => writer.close())
  const insert = writer.prepare('INSERT INTO plants (id, name) VALUES (?, ?)')
  let id = 10_000
  const file = join(tempFolder(t), 'backup.db')
  const shares: (number | undefined)[] = []
  const report = await makeBackup(path, file, {
    onProgress: ({ done }) => {
      shares.push(done)
      for (let i = 0; i < 10; i++) insert.run(id++, 'y'.repeat(4000))
    },
  })
  assert.ok(shares.length > 3, 'the copy takes several parts')
  assert.deepEqual(plantsIn(file), before)
  assert.deepEqual(report, { file, bytes: statSync(file).size, plants: 2500, tokens: 0 })
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(file, '..')), ['backup.db'])
  assert.equal(plantsIn(path).size, before.size + id - 10_000)
})

test('a stopped backup leaves no file', async (t) => {
  const path = await storeWith(t, 2500, 4000)
  const folder = tempFolder(t)
  for (const part of [1, 2, 99]) {
    const stop = new AbortController()
    let parts = 0
    const onProgress = ({ done }: { done: number | undefined }) => {
      if (++parts >= part || (part === 99 && done === undefined)) stop.abort(new Error('stopped by the test'))
    }
    await assert.rejects(
      makeBackup(path, join(folder, 'backup.db'), { onProgress, signal: stop.signal }),
      /stopped by the test/,
    )
    assert.deepEqual(snapshot(folder), {})
  }
})

test('a backup refuses an unsuitable file name with the reason, and writes nothing', async (t) => {
  const path = await storeWith(t, 10)
  const folder = tempFolder(t)
  const at = (name: string) => join(folder, name)
  writeFileSync(at('there.db'), 'something')
  symlinkSync(at('there.db'), at('link.db'))
  const dangling = join(tempFolder(t), 'dangling.db')
  symlinkSync(at('nowhere.db'), dangling)
  mkdirSync(at('folder'))
  symlinkSync(join(path, '..'), at('store-folder'))
  const wrong: [string, RegExp][] = [
    [at('link.db'), /it is a symbolic link; name the file itself/],
    [dangling, /it is a symbolic link; name the file itself/],
    [at('folder'), /it is a folder; name a new file in it/],
    [at('missing/backup.db'), /the folder \S+missing does not exist; create it first/],
    [at('there.db/backup.db'), /there\.db is not a folder/],
    ['-', /can not go to standard output; name a file/],
    [path, /it is the store itself; name a new file/],
    [at('store-folder/plants.db'), /it is the store itself; name a new file/],
    ...['-wal', '-shm', '-journal', '.lock', '.reserve', '-index', '-index-wal', '.new-1', '.first-token'].map(
      (suffix): [string, RegExp] => [path + suffix, /the store uses this name for one of its own files/],
    ),
  ]
  const before = [snapshot(folder), snapshot(join(path, '..'))]
  for (const [file, why] of wrong) await assert.rejects(makeBackup(path, file), fails(why, 2), file)
  await assert.rejects(
    makeBackup(path, at('there.db')),
    fails(/there\.db: it already exists; a backup replaces no file/, 1),
  )
  await assert.rejects(makeBackup(at('none.db'), at('new.db')), fails(/none\.db: it does not exist/, 1))
  await assert.rejects(makeBackup(at('there.db'), at('new.db')), fails(/it is not a SQLite database/, 1))
  assert.deepEqual([snapshot(folder), snapshot(join(path, '..'))], before)
})

test('a backup of a damaged store fails and leaves no file', async (t) => {
  const path = await storeWith(t, 2000, 200)
  const { size } = statSync(path)
  const file = openSync(path, 'r+')
  // Overwrites a page in the middle with zeros.
  writeSync(file, Buffer.alloc(4096), 0, 4096, (size >> 13) * 4096)
  closeSync(file)
  const folder = tempFolder(t)
  await assert.rejects(makeBackup(path, join(folder, 'backup.db')), fails(/damaged|malformed/, 1))
  assert.deepEqual(snapshot(folder), {})
})

test('a backup does not begin if the disk has no room for it', async (t) => {
  const path = await storeWith(t, 2500, 1000)
  const small = tempFolder(t)
  if (!(isRoot && isLinux && runs('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small))) {
    return notTestedHere(t, 'a backup on a full disk, because nothing can be mounted')
  }
  cleanUp(t, () => void runs('umount', '--lazy', small))
  await assert.rejects(
    makeBackup(path, join(small, 'backup.db')),
    fails(/no space is left on the device: the copy takes \d+\.\d MiB, and 1\.0 MiB are free/, 1),
  )
  assert.deepEqual(snapshot(small), {})
})

test('plantstore backup prints its result as text or JSON, and refuses PostgreSQL and wrong arguments', async (t) => {
  const path = await storeWith(t, 10)
  const folder = tempFolder(t)
  const store = ['--store', `sqlite:${path}`]
  const [words, json, quiet, taken, postgres, nothing] = await Promise.all([
    command(['backup', join(folder, 'a.db'), ...store]),
    command(['backup', join(folder, 'b.db'), '--json', '--quiet', ...store]),
    command(['backup', join(folder, 'c.db'), '--quiet', ...store]),
    command(['backup', path, ...store]),
    command(['backup', join(folder, 'd.db'), '--store', 'postgres://me@nowhere.invalid/plants']),
    command(['backup', ...store]),
  ])
  assert.match(words.stderr, /^done: \S+a\.db holds 10 plants and 0 tokens in [\d,]+ bytes, verified\n$/)
  assert.deepEqual([words.code, words.stdout], [0, ''])
  const { file, plants, tokens } = JSON.parse(json.stdout) as Record<string, unknown>
  assert.deepEqual([json.code, json.stderr, file, plants, tokens], [0, '', join(folder, 'b.db'), 10, 0])
  assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, '', ''])
  assert.match(taken.stderr, /^plantstore: \S+plants\.db: it is the store itself; name a new file\n$/)
  assert.match(postgres.stderr, /back up a PostgreSQL store by pg_dump/)
  assert.match(nothing.stderr, /missing required argument 'file'/)
  assert.deepEqual([taken.code, postgres.code, nothing.code], [2, 2, 2])
  assert.deepEqual(readdirSync(folder).sort(), ['a.db', 'b.db', 'c.db'])
  for (const name of ['a.db', 'b.db', 'c.db']) assert.ok(isIntact(join(folder, name)))
})

test('plantstore backup and plantstore check yield to other processes', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the priority of all threads of a process, because only Linux shows it')
  const store = ['--store', `sqlite:${await storeWith(t, 10)}`, '--quiet']
  const script = `import { existsSync, readdirSync, readFileSync } from 'node:fs'
    process.on('exit', () => {
      const files = readdirSync('/proc/self/task').map((thread) => '/proc/self/task/' + thread + '/stat')
      const stats = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'))
      console.log(...new Set(stats.map((stat) => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])))
    })`
  const options = { nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(script)}`] }
  const backup = join(tempFolder(t), 'backup.db')
  const nice = `${Math.max(getPriority(), 10)}\n`
  for (const command of [['backup', backup], ['check']]) {
    const { code, stdout, stderr } = await run(t, [...command, ...store], options)
    assert.deepEqual([code, stdout, stderr], [0, nice, ''])
  }
})

test('a backup of a store after a crash contains every commit of its log', async (t) => {
  const folder = tempFolder(t)
  const { program, address, storePath } = await startServer(t, folder)
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  await program.kill()
  const file = join(tempFolder(t), 'backup.db')
  await makeBackup(storePath, file)
  assert.deepEqual([...plantsIn(file).keys()], [1n])
})

test('a backup that has other counts than its store gets no name', async (t) => {
  const path = await storeWith(t, 5)
  const folder = tempFolder(t)
  // Takes a plant out of the copy, as a disk may that loses a page.
  const script = `import { DatabaseSync } from 'node:sqlite'
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      exec.call(this, sql)
      if (sql.includes('journal_mode = DELETE')) exec.call(this, 'DELETE FROM plants WHERE id IN (SELECT min(id) FROM plants)')
    }`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const { code, stderr } = await run(t, ['backup', join(folder, 'a.db'), '--store', `sqlite:${path}`], { nodeArgs })
  assert.match(stderr, /the copy is damaged, so no backup was written: it has 4 plants and 0 tokens instead of 5 and 0/)
  assert.deepEqual([code, readdirSync(folder)], [1, []])
})

test('each byte of a backup is on stable storage before it gets its name, and then the name is', async (t) => {
  if (!hasStrace) {
    return notTestedHere(t, 'the order of the writes of a backup, because strace is not there or not allowed')
  }
  const path = await storeWith(t, 5)
  const folder = tempFolder(t)
  const log = join(tempFolder(t), 'calls')
  const calls = 'pwrite64,write,fsync,fdatasync,link,linkat,rename'
  const under = tracing(calls, log)
  const { code, stderr } = await run(t, ['backup', join(folder, 'a.db'), '--store', `sqlite:${path}`], { under })
  assert.equal(code, 0, stderr)
  const steps = readFileSync(log, 'utf8')
    .split('\n')
    .flatMap((line) => {
      if (/ (?:link|linkat|rename)\(.*a\.db\.new-/.test(line)) return ['name']
      if (/ fsync\(\d+<[^>]*\/a\.db\.new-\d+-[0-9a-f]+>/.test(line)) return ['sync']
      if (/ p?write(?:64)?\(\d+<[^>]*\/a\.db\.new-\d+-[0-9a-f]+>/.test(line)) return ['write']
      return line.includes(`<${folder}>`) && / fsync\(/.test(line) ? ['sync folder'] : []
    })
  const named = steps.indexOf('name')
  assert.ok(steps.includes('write') && named > 0, steps.join())
  assert.ok(steps.lastIndexOf('sync', named) > steps.lastIndexOf('write'), steps.join())
  assert.ok(steps.lastIndexOf('sync folder') > named, steps.join())
})
