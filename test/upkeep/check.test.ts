import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { OperatorError } from '../../src/base/operator-error.ts'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { makeBackup, restoreBackup } from '../../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../../src/sqlite/upkeep/check.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant } from '../support/change-plant.ts'
import { command } from '../support/commands.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { assertEnded } from '../support/process.ts'
import { assertIndexMatches, inFile, steppedIndex } from '../support/sqlite-indexes.ts'
import { importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'

/** Creates and closes a store whose index lacks the last changes. */
async function storeOf(t: TestContext, { later }: { later: boolean }): Promise<string> {
  const index = steppedIndex()
  const { path, store } = await openSqlite(t, { startFollower: index.start })
  await importMany(store, 3000, (i) => plant(BigInt(i), `Plant ${i} ${'x'.repeat(100)}`, `tag ${i % 5}`))
  while (!index.step().isDone);
  if (later) {
    await store.importPlants([plant(1n, 'changed'), plant(9000n, 'new', 'new')], 'update', TESTER)
    await deletePlant(store, 2n, NO_EXPECTATION, TESTER)
  }
  await store.close()
  return path
}

const faultsOf = async (path: string): Promise<Record<string, readonly string[]>> => {
  const { parts } = await checkStore(path)
  return Object.fromEntries(parts.filter(({ faults }) => faults.length > 0).map(({ part, faults }) => [part, faults]))
}

test('the check makes an index anew that lacks changes, makes none beside a backup, and changes no other file', async (t) => {
  const path = await storeOf(t, { later: true })
  const before = snapshot(join(path, '..'))
  const { parts } = await checkStore(path)
  const shown = parts.map(({ part, faults }) => [part, faults])
  const expected = ['schema', 'file', 'changes', 'index'].map((part) => [part, []])
  assert.deepEqual(shown, expected)
  assert.equal(parts[3]?.found, 'made anew')
  assert.match(parts[1]?.found ?? '', /^3,000 plants, 0 tokens$/)
  assertIndexMatches(path)
  for (const [name, bytes] of Object.entries(before)) {
    if (!/-(wal|shm|index)$/.test(name)) assert.equal(snapshot(join(path, '..'))[name], bytes, `${name} is not changed`)
  }
  const file = join(tempFolder(t), 'plants.db')
  await makeBackup(path, file)
  assert.equal((await checkStore(file)).parts[3]?.found, 'there is none; a service makes it')
  const seen = readdirSync(join(file, '..')).filter((name) => name.includes('-index'))
  assert.deepEqual(seen, [])
})

test('the check finds damage of the file, the log of changes and the schema, and exits with 1', async (t) => {
  const path = await storeOf(t, { later: false })
  rmSync(`${path}-index`)
  const copies = ['a', 'b', 'c'].map((name) => {
    const copy = join(path, '..', `${name}.db`)
    copyFileSync(path, copy)
    return copy
  })
  const [damaged = '', gap = '', newer = ''] = copies
  const bytes = readFileSync(damaged)
  bytes.fill(0, bytes.length >> 1, (bytes.length >> 1) + 8192)
  writeFileSync(damaged, bytes)
  for (const [file, sql] of [
    [gap, "INSERT INTO changes (position, bytes, at, kind, ids) VALUES (5000, 1, 1, 'create', zeroblob(8))"],
    [newer, "INSERT INTO migrations VALUES (99, 'x')"],
  ] as const) {
    inFile(file, (db) => db.exec(sql))
  }
  assert.ok((await faultsOf(damaged))['file'])
  assert.match((await faultsOf(gap))['changes']?.join() ?? '', /position 5000: expected 3001 after/)
  // A sound store of another version is not damaged.
  const other = await command(['check', '--store', `sqlite:${newer}`])
  const newest = /^plantstore: store \S+: it has schema 99, newer than this program's \d+; update the program\n$/
  assertEnded(other, 1, newest)

  const [good, bad, json] = await Promise.all([
    command(['check', '--store', `sqlite:${path}`]),
    command(['check', '--quiet', '--store', `sqlite:${gap}`]),
    command(['check', '--json', '--store', `sqlite:${gap}`]),
  ])
  assert.match(
    good.stderr,
    /^schema: ok \(schema \d+\)\nfile: ok \(3,000 plants, 0 tokens\)\nchanges: ok .*\nindex: ok .*\n\S+ is in order\n$/,
  )
  assert.match(bad.stderr, /^changes: DAMAGED .*\n {2}position 5000: expected 3001 after/m)
  assert.equal((JSON.parse(json.stdout) as { parts: unknown[] }).parts.length, 3)
  assert.deepEqual([good.code, bad.code, json.code], [0, 1, 1])
})

/** Changes of a schema, with what the refusal names. */
const CHANGES: readonly (readonly [sql: string, names: RegExp])[] = [
  [
    'CREATE TRIGGER keep BEFORE UPDATE OF revoked_at ON tokens BEGIN SELECT RAISE(IGNORE); END',
    /it has the trigger "keep" of "tokens"/,
  ],
  [
    'CREATE TRIGGER "take" AFTER INSERT ON plants BEGIN DELETE FROM plants WHERE id = NEW.id; END',
    /it has the trigger "take" of "plants"/,
  ],
  ['CREATE VIEW others AS SELECT * FROM tokens', /it has the view "others"/],
  ['CREATE TABLE notes (text TEXT)', /it has the table "notes"/],
  ['CREATE UNIQUE INDEX once ON plants (name)', /it has the index "once" of "plants"/],
  ["ALTER TABLE plants ADD COLUMN bed TEXT NOT NULL DEFAULT ''", /the table "plants" is not as this program makes it/],
  ['DROP INDEX changes_of_plant', /the index "changes_of_plant" of "changes" is missing/],
  [
    'ALTER TABLE tokens RENAME TO kept; CREATE VIEW tokens AS SELECT * FROM kept',
    /the table "tokens" is missing[\s\S]*it has the view "tokens"/,
  ],
]

test('a restore and a check refuse what the migrations do not make', async (t) => {
  const folder = tempFolder(t)
  const { path, store } = await openSqlite(t)
  await store.importPlants([plant(1n, 'Rosa')], 'add', TESTER)
  await store.close()
  const file = join(folder, 'backup.db')
  await makeBackup(path, file)
  for (const [i, [sql, names]] of CHANGES.entries()) {
    const changed = join(folder, `changed-${i}.db`)
    copyFileSync(file, changed)
    inFile(changed, (db) => db.exec(sql))
    const target = join(folder, `restored-${i}.db`)
    await assert.rejects(restoreBackup(target, changed, { replace: false }), (error) => {
      assert.ok(error instanceof OperatorError)
      assert.match(error.message, /it is no backup by this program/)
      assert.match(error.message, names)
      return true
    })
    assert.equal(existsSync(target), false)
    const [schema] = (await checkStore(changed)).parts
    assert.match(schema?.faults.join('\n') ?? '', names)
  }
  const target = join(folder, 'restored.db')
  await restoreBackup(target, file, { replace: false })
  const found = (await checkStore(target)).parts.flatMap(({ faults }) => faults)
  assert.deepEqual(found, [])
})
