import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { AppError } from '../../src/domain/errors.ts'
import { type NewPlant, NO_EXPECTATION } from '../../src/domain/plant.ts'
import type { Store } from '../../src/domain/store.ts'
import { indexPath } from '../../src/sqlite/indexed.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant, replacePlant } from '../support/change-plant.ts'
import { expectedPlants, expectedTags } from '../support/expected.ts'
import { copyAsAfterCrash, tempFolder } from '../support/files.ts'
import { openSqlite, storeAt } from '../support/open-sqlite.ts'
import { assertIndexMatches, indexAll, inFile } from '../support/sqlite-indexes.ts'
import { EVERYTHING, importAll, listAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'
import { wholeFile } from '../support/whole-file.ts'

/** More plants than a search reads without an index, so that it waits for the index. */
const MANY = Array.from({ length: 12_000 }, (_, i) => plant(BigInt(i), `Monstera ${i}`, `tag ${i % 3}`))

/** Runs a script on a file in another process: opening and closing the file here would drop locks of this process. */
function change(file: string, script: string): void {
  execFileSync(process.execPath, ['-e', `const fs = require('node:fs'), file = ${JSON.stringify(file)}; ${script}`])
}

const inOtherProcess = (script: string) => (path: string) => change(indexPath(path), script)
const inIndex = (sql: string) => (path: string) => inFile(indexPath(path), (db) => db.exec(sql))

/** Kinds of damage to the index of a store. */
const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  removed: inOtherProcess("for (const end of ['', '-wal', '-shm']) fs.rmSync(file + end, { force: true })"),
  'removed without its log': inOtherProcess('fs.rmSync(file)'),
  emptied: inOtherProcess('fs.truncateSync(file)'),
  cut: inOtherProcess('fs.truncateSync(file, 20_000)'),
  garbled: inOtherProcess(`const { size } = fs.statSync(file), fd = fs.openSync(file, 'r+')
    fs.writeSync(fd, require('node:crypto').randomBytes(Math.max(0, size - 8192)), 0, Math.max(0, size - 8192), 8192)`),
  'replaced by a text': inOtherProcess("fs.rmSync(file); fs.writeFileSync(file, 'no index at all'.repeat(1000))"),
  'of another version': inIndex("UPDATE state SET version = 'old'"),
  'of another store': inIndex('UPDATE state SET store = randomblob(16)'),
  'ahead of the store': inIndex('UPDATE state SET position = position + 1000'),
  'of another history of the store': inIndex("UPDATE state SET mark = 'other'"),
  'without an entry': inIndex("DELETE FROM names; DELETE FROM recent_names WHERE key = 'monstera 7'"),
}

/** Retries after the time that the refusal names. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  let found: { readonly value: T } | undefined
  const isFound = async () => {
    try {
      found = { value: await read() }
    } catch (error) {
      if (!(error instanceof AppError) || error.number !== 50301) throw error
      assert.match(error.message, /^the search index is (being built: \d+% done|\d+ changes behind); /)
    }
    return found !== undefined
  }
  await until(isFound, 'the search index is not built')
  return (found ?? assert.fail()).value
}

async function assertFound(store: Store, plants: readonly NewPlant[]): Promise<void> {
  const byName = { ...EVERYTHING, order: '-name', after: undefined } as const
  const found = await patiently(() => listAll(store, { words: ['monstera'] }))
  assert.deepEqual(
    found,
    plants.filter(({ name }) => name.startsWith('Monstera')),
  )
  assert.deepEqual(await patiently(() => store.listTags({}, 100)), expectedTags(plants))
  assert.deepEqual(await patiently(() => store.listPlants(byName, 100)), expectedPlants(plants, byName, 100))
}

/** A closed store with many plants and a complete index, of which each test has a copy. */
const original = join(tempFolder(wholeFile), 'plants.db')
before(async () => {
  const store = await storeAt(original, { serving: false })
  await importAll(store, MANY)
  await store.close()
  indexAll(original)
})

async function indexedStore(t: TestContext) {
  const folder = tempFolder(t)
  cpSync(dirname(original), folder, { recursive: true })
  const path = join(folder, 'plants.db')
  const opened = await openSqlite(t, { path })
  // Returns once the store has opened the index.
  assert.deepEqual(await patiently(() => opened.store.listTags({}, 100)), expectedTags(MANY))
  return opened
}

const CHANGED = plant(7n, 'Another name', 'another tag')
const AFTER = MANY.map((one) => (one.id === 7n ? CHANGED : one)).filter(({ id }) => id !== 8n)

async function write(store: Store): Promise<void> {
  await replacePlant(store, CHANGED, NO_EXPECTATION, TESTER)
  await deletePlant(store, 8n, NO_EXPECTATION, TESTER)
}

/** Closes the store, completes its index, and checks that the index contains exactly the plants. */
async function assertRebuilt(path: string, close: () => Promise<void>): Promise<void> {
  await close()
  indexAll(path)
  assertIndexMatches(path)
}

for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`a starting store rebuilds an index that is ${what}, and searches find every plant`, async (t) => {
    const { path, store, reopen } = await indexedStore(t)
    await store.close()
    indexAll(path)
    damage(path)
    const again = await reopen()
    await write(again)
    await assertFound(again, AFTER)
    await assertRebuilt(path, () => again.close())
  })

  test(`an open store rebuilds an index that is ${what}, and searches find every plant`, async (t) => {
    const { path, store } = await indexedStore(t)
    damage(path)
    await write(store)
    await assertFound(store, AFTER)
    await assertRebuilt(path, () => store.close())
  })
}

test('the store rebuilds an index that is ahead of it after a restore', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const backup = join(folder, 'backup.db')
  cpSync(dirname(original), folder, { recursive: true })
  copyAsAfterCrash(path, backup)
  const { store: later } = await openSqlite(t, { path })
  await importAll(later, [plant(20_000n, 'Monstera lost')])
  await later.close()
  indexAll(path)
  copyAsAfterCrash(backup, path)
  // The restored store has another change at the same position of the log of changes.
  const { store: restored } = await openSqlite(t, { path })
  const kept = plant(20_001n, 'Monstera kept')
  await importAll(restored, [kept])
  await assertFound(restored, [...MANY, kept])
  await assertRebuilt(path, () => restored.close())
})
