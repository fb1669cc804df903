import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { makeBackup } from '../../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../../src/sqlite/upkeep/check.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant } from '../support/change-plant.ts'
import { command } from '../support/commands.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { assertIndexMatches, steppedIndex } from '../support/sqlite-indexes.ts'
import { plant } from '../support/store-under-test.ts'

/** Creates and closes a store whose index lacks the last changes. */
async function storeOf(t: TestContext, { later }: { later: boolean }): Promise<string> {
  const path = join(tempFolder(t), 'plants.db')
  const index = steppedIndex()
  const { store } = await openSqlite(t, { path, startFollower: index.start })
  const plants = Array.from({ length: 3000 }, (_, i) =>
    plant(BigInt(i), `Plant ${i} ${'x'.repeat(100)}`, `tag ${i % 5}`),
  )
  await store.importPlants(plants, 'add', TESTER)
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
    const db = new DatabaseSync(file)
    db.exec(sql)
    db.close()
  }
  assert.ok((await faultsOf(damaged))['file'])
  assert.match((await faultsOf(gap))['changes']?.join() ?? '', /position 5000: expected 3001 after/)
  // A sound store of another version is not damaged.
  const other = await command(['check', '--store', `sqlite:${newer}`])
  assert.match(
    other.stderr,
    /^plantstore: store \S+: it has schema 99, newer than this program's \d+; update the program\n$/,
  )
  assert.equal(other.code, 1)

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
