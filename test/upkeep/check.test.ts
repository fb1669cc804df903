import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { NO_EXPECTATION } from '../../src/plant-version.ts'
import { makeBackup } from '../../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../../src/sqlite/upkeep/check.ts'
import { TESTER } from '../support/actor.ts'
import { snapshot, tempFolder } from '../support/files.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { run } from '../support/process.ts'
import { steppedIndex } from '../support/sqlite-indexes.ts'
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
    await store.deletePlant(2n, NO_EXPECTATION, TESTER)
  }
  await store.close()
  return path
}

const faultsOf = async (path: string): Promise<Record<string, readonly string[]>> => {
  const { parts } = await checkStore(path)
  return Object.fromEntries(parts.filter(({ faults }) => faults.length > 0).map(({ part, faults }) => [part, faults]))
}

test('the check accepts a store with a late index, an older index, or none', async (t) => {
  const path = await storeOf(t, { later: true })
  const before = snapshot(join(path, '..'))
  const { parts } = await checkStore(path)
  assert.deepEqual(
    parts.map(({ part, faults }) => [part, faults]),
    ['schema', 'file', 'changes', 'index'].map((part) => [part, []]),
  )
  assert.match(parts[3]?.found ?? '', /^3 changes behind$/)
  assert.match(parts[1]?.found ?? '', /^3,000 plants, 0 tokens$/)
  for (const [name, bytes] of Object.entries(before)) {
    if (!/-(wal|shm)$/.test(name)) assert.equal(snapshot(join(path, '..'))[name], bytes, `${name} is not changed`)
  }
  const file = join(tempFolder(t), 'plants.db')
  await makeBackup(path, file)
  assert.match((await checkStore(file)).parts[3]?.found ?? '', /^there is none for this store/)
  const changed = new DatabaseSync(file)
  changed.exec('DELETE FROM changes')
  changed.close()
  copyFileSync(`${path}-index`, `${file}-index`)
  assert.match((await checkStore(file)).parts[3]?.found ?? '', /^it belongs to another history/)
})

test('the check finds missing, superfluous and wrong entries of the search index', async (t) => {
  const path = await storeOf(t, { later: false })
  const harms: [string, RegExp][] = [
    ['DELETE FROM recent_names WHERE id = 7; DELETE FROM names WHERE id = 7', /names: 2999 entries for 3000 plants/],
    [
      "UPDATE recent_names SET key = 'other' WHERE id = 7; UPDATE names SET key = 'other' WHERE id = 7",
      /names: 3000 entries for 3000/,
    ],
    ["UPDATE tags SET tag = 'tag 9' WHERE id = 7", /counts of tags differ in/],
    ["UPDATE tag_counts SET plants = plants + 1 WHERE tag = 'tag 1'", /counts of tags differ in/],
    ['DELETE FROM words WHERE rowid = 7', /words: 2999 entries for 3000 plants/],
    [
      "DELETE FROM words WHERE rowid = 7; INSERT INTO words (rowid, terms) VALUES (7, 'other')",
      /words: a search does not find 1 of the plants/,
    ],
  ]
  for (const [i, [sql, why]] of harms.entries()) {
    const folder = join(path, '..', `harm-${i}`)
    mkdirSync(folder)
    const copy = join(folder, 'plants.db')
    copyFileSync(path, copy)
    copyFileSync(`${path}-index`, `${copy}-index`)
    const db = new DatabaseSync(`${copy}-index`)
    db.exec(sql)
    db.close()
    const { index = [], ...others } = await faultsOf(copy)
    assert.match(index.join('\n'), why, sql)
    assert.deepEqual(others, {})
  }
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
    [gap, "INSERT INTO changes (position, at, kind, ids) VALUES (5000, 1, 'create', zeroblob(8))"],
    [newer, "INSERT INTO migrations VALUES (99, 'x')"],
  ] as const) {
    const db = new DatabaseSync(file)
    db.exec(sql)
    db.close()
  }
  assert.ok((await faultsOf(damaged))['file'])
  assert.match((await faultsOf(gap))['changes']?.join() ?? '', /position 5000: expected 3001 after/)
  assert.match((await faultsOf(newer))['schema']?.join() ?? '', /schema 99, newer than this program/)

  const [good, bad, json] = await Promise.all([
    run(t, ['check', '--store', `sqlite:${path}`]),
    run(t, ['check', '--quiet', '--store', `sqlite:${gap}`]),
    run(t, ['check', '--json', '--store', `sqlite:${gap}`]),
  ])
  assert.match(
    good.stderr,
    /^schema: ok \(schema \d+\)\nfile: ok \(3,000 plants, 0 tokens\)\nchanges: ok .*\nindex: ok .*\n\S+ is in order\n$/,
  )
  assert.match(bad.stderr, /^changes: DAMAGED .*\n {2}position 5000: expected 3001 after/m)
  assert.equal((JSON.parse(json.stdout) as { parts: unknown[] }).parts.length, 4)
  assert.deepEqual([good.code, bad.code, json.code], [0, 1, 1])
})
