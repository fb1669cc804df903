import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { makeBackup, restoreBackup } from '../../src/sqlite/upkeep/backup.ts'
import { command } from '../support/commands.ts'
import { fails, isIntact, plantsIn, snapshot, tempFolder } from '../support/files.ts'
import { Load, send } from '../support/load.ts'
import { assertEnded, startServer } from '../support/process.ts'
import { assertSearchable, inFile } from '../support/sqlite-indexes.ts'

test('a backup under load, restored elsewhere after a crash, equals the store row by row', async (t) => {
  const folder = tempFolder(t)
  const { program, address, storePath } = await startServer(t, folder)
  const store = ['--store', `sqlite:${storePath}`]
  const { stdout: secret } = await command(['token', 'create', '--name', 'Kew app', ...store])
  const load = new Load(address)
  await load.reaches(500)
  const file = join(tempFolder(t), 'backup.db')
  const acknowledged = new Map(load.acknowledged)
  const backup = await command(['backup', file, ...store])
  assert.equal(backup.code, 0, backup.stderr)
  await load.reaches(load.acknowledged.size + 100)
  await program.kill()
  await load.done

  const elsewhere = join(tempFolder(t), 'plants.db')
  const restore = await command(['restore', file, '--store', `sqlite:${elsewhere}`])
  assertEnded(restore, 0, /^done: the store \S+ holds [\d,]+ plants and 1 token\nTokens that were revoked /)
  const restored = plantsIn(elsewhere)
  for (const [id, plant] of acknowledged) assert.deepEqual(restored.get(id), plant, `plant ${id}`)
  const original = plantsIn(storePath)
  for (const [id, plant] of restored) assert.deepEqual(plant, original.get(id), `plant ${id}`)
  assert.ok(restored.size < original.size, 'the backup contains no later plant')
  assert.equal(statSync(elsewhere).mode & 0o777, 0o600)
  await assertSearchable(elsewhere)

  const again = await startServer(t, join(elsewhere, '..'))
  const [first] = acknowledged.keys()
  assert.equal((await send('GET', `${again.address}/plants/${first}`, { token: secret.trim() })).status, 200)
  // The log of the crash belongs to the other store.
  await again.program.ends()
  copyFileSync(`${storePath}-wal`, `${elsewhere}-wal`)
  const foreign = await command(['token', 'list', '--store', `sqlite:${elsewhere}`])
  assert.match(foreign.stderr, /the log \S+-wal belongs to another file/)
  // A backup that an operator copies in place beside the log of its original is refused in the same way.
  copyFileSync(file, storePath)
  assert.match((await command(['token', 'list', ...store])).stderr, /the log \S+-wal belongs to another file/)
  // The command keeps the log together with the file beside it.
  const replaced = await command(['restore', file, '--replace', ...store])
  assert.equal(replaced.code, 0, replaced.stderr)
  const kept = /^kept the replaced store as (\S+)$/m.exec(replaced.stderr)?.[1] ?? assert.fail(replaced.stderr)
  assert.ok(existsSync(kept) && existsSync(`${kept}-wal`))
  assert.deepEqual(plantsIn(storePath), restored)
})

test('restore replaces a store only with --replace and while nobody has it open, and keeps the old one', async (t) => {
  const folder = tempFolder(t)
  const { program, address, storePath: path } = await startServer(t, folder)
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"old"}' })
  const file = join(tempFolder(t), 'backup.db')
  await makeBackup(path, file)
  await send('POST', `${address}/plants`, { body: '{"id":2,"name":"new"}' })
  const store = ['--store', `sqlite:${path}`]
  const [there, served] = await Promise.all([
    command(['restore', file, ...store]),
    command(['restore', file, '--replace', ...store]),
  ])
  assert.match(
    there.stderr,
    /^plantstore: store \S+: it exists; --replace replaces it, and keeps it under another name\n$/,
  )
  assert.match(served.stderr, /^plantstore: store \S+: another service already serves it; stop that service first\n$/)
  assert.deepEqual([there.code, served.code], [1, 1])
  assert.equal((await send('POST', `${address}/plants`, { body: '{"id":3,"name":"newer"}' })).status, 200)
  await program.kill()

  const reader = new DatabaseSync(path, { readOnly: true })
  reader.prepare('SELECT count(*) FROM plants').get()
  await assert.rejects(restoreBackup(path, file, { replace: true }), fails(/another process has it open/))
  reader.close()
  const names = readdirSync(folder)
  const { kept, plants } = await restoreBackup(path, file, { replace: true })
  assert.equal(plants, 1)
  assert.ok(kept !== undefined && !existsSync(`${kept}-wal`), 'its log was checkpointed')
  const now = readdirSync(folder).filter((name) => !names.includes(name))
  assert.deepEqual(now, [kept.slice(folder.length + 1)], 'nothing else is new')
  assert.ok(!existsSync(`${path}-index`), 'the index of the old store is gone')
  assert.deepEqual([...plantsIn(kept).keys()], [1n, 2n, 3n])
  assert.deepEqual([...plantsIn(path).keys()], [1n])
  assert.ok(isIntact(kept) && isIntact(path))
  await startServer(t, folder)
})

test('restore refuses a file that is not an intact store, and leaves the present store unchanged', async (t) => {
  const folder = tempFolder(t)
  const { program, address, storePath: path } = await startServer(t, folder)
  for (let id = 0; id < 50; id++) {
    await send('POST', `${address}/plants`, { body: JSON.stringify({ id, name: 'x'.repeat(900) }) })
  }
  await program.ends()
  const away = tempFolder(t)
  const at = (name: string) => join(away, name)
  await makeBackup(path, at('good.db'))
  const made = (name: string, change: (file: string) => void): string => {
    copyFileSync(at('good.db'), at(name))
    change(at(name))
    return at(name)
  }
  const sql = (text: string) => (file: string) => inFile(file, (db) => db.exec(text))
  const garbled = (file: string) => {
    const bytes = readFileSync(file)
    bytes.fill(0xff, bytes.length - 20_000, bytes.length - 12_000)
    writeFileSync(file, bytes)
  }
  const wrong: [string, RegExp][] = [
    [at('missing.db'), /missing\.db: there is no such file/],
    [away, /it is not a file/],
    [path, /it is the store itself/],
    [made('empty.db', (file) => truncateSync(file, 0)), /empty\.db: it is empty/],
    [made('cut.db', (file) => truncateSync(file, 20_000)), /cut\.db: it is truncated to 20000 bytes/],
    [made('short.db', (file) => truncateSync(file, 50)), /short\.db/],
    [made('text.db', (file) => writeFileSync(file, 'my thesis '.repeat(1000))), /it is not a SQLite database/],
    [made('other.db', sql('PRAGMA application_id = 1')), /a SQLite database, but not a plant store/],
    [made('newer.db', sql("INSERT INTO migrations VALUES (99, 'x')")), /schema 99, newer than this program/],
    [
      made('long.db', sql(`UPDATE plants SET name = printf('%1001d', 0), tag = printf('%201d', 0) WHERE id = 7`)),
      /long\.db: it has plants .*:\nplant 7: name must have at most 1000 characters; tag must have at most 200 characters$/,
    ],
    [
      made('latin.db', sql(`UPDATE plants SET name = CAST(x'43616ce9' AS TEXT) WHERE id = 7`)),
      /latin\.db: it has plants .*:\nplant 7: its text is not UTF-8$/,
    ],
    [
      made('zero.db', sql(`UPDATE plants SET name = 'a' || char(0) || printf('%1001d', 0) WHERE id = 7`)),
      /zero\.db: it has plants .*:\nplant 7: name must /,
    ],
    [made('garbled.db', garbled), /it is damaged|malformed/],
    [
      made('used.db', (file) => writeFileSync(`${file}-wal`, 'commits')),
      /it is a store and not a backup: \S+-wal holds/,
    ],
  ]
  // A reader leaves these files beside a store that is not served.
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
  const before = snapshot(folder)
  for (const [file, why] of wrong) {
    await assert.rejects(restoreBackup(path, file, { replace: true }), fails(why), file)
    assert.deepEqual(snapshot(folder), before, file)
  }
  const aborted = AbortSignal.abort(new Error('stopped by the test'))
  await assert.rejects(restoreBackup(path, at('good.db'), { replace: true, signal: aborted }))
  assert.deepEqual(snapshot(folder), before)
  await assert.rejects(
    restoreBackup(join(away, 'no-folder/plants.db'), at('good.db'), { replace: false }),
    fails(/the folder \S+no-folder does not exist; create it first/),
  )
})

test('restore refuses a log without its store, or keeps that log with --replace', async (t) => {
  const folder = tempFolder(t)
  const { program, address, storePath: path } = await startServer(t, folder)
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  await program.kill()
  const file = join(tempFolder(t), 'backup.db')
  await makeBackup(path, file)
  const away = join(tempFolder(t), 'plants.db')
  renameSync(path, away)
  await assert.rejects(
    restoreBackup(path, file, { replace: false }),
    fails(/the file is missing, but \S+-wal and \S+-shm may hold/),
  )
  const { kept } = await restoreBackup(path, file, { replace: true })
  assert.ok(kept !== undefined)
  // With its file, the kept log is the whole old store again.
  copyFileSync(away, kept)
  rmSync(`${kept}-shm`, { force: true })
  assert.deepEqual([...plantsIn(kept).keys()], [1n])
  assert.deepEqual([...plantsIn(path).keys()], [1n])
})

test('restore refuses PostgreSQL stores and names the tools of PostgreSQL', async (_t) => {
  const store = ['--store', 'postgres://me@nowhere.invalid/plants']
  const [restore, check] = await Promise.all([command(['restore', 'x.db', ...store]), command(['check', ...store])])
  assert.match(restore.stderr, /restore a PostgreSQL store by pg_restore/)
  assert.match(check.stderr, /check a PostgreSQL store by pg_amcheck/)
  assert.deepEqual([restore.code, check.code], [2, 2])
})
