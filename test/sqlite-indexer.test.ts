import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { plantOf } from '../bench/collection.ts'
import { MIN_ID, NO_EXPECTATION } from '../src/domain/plant.ts'
import type { PlantQuery } from '../src/domain/plant-query.ts'
import { indexPath, UnreadyIndex } from '../src/sqlite/indexed.ts'
import { QueryReader } from '../src/sqlite/read/query-reader.ts'
import { Indexer } from '../src/sqlite/search-index/indexer.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant } from './support/change-plant.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { isLinux, notTestedHere } from './support/not-tested.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { changesIn } from './support/sqlite-changes.ts'
import { assertIndexMatches, behind, IDLE, indexAll, inFile } from './support/sqlite-indexes.ts'
import { exportAll, importAll, listAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { until } from './support/until.ts'

const MANY = Array.from({ length: 12_000 }, (_, i) => plant(BigInt(i - 3000), `Monstera ${i}`, `tag ${i % 3}`))
const SMALL = { batch: 3, mergeFrom: 7 }

test('building the index continues after a restart, includes new writes, and reports its progress', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  await importAll(store, MANY.slice(0, 400))
  let indexer = new Indexer(path, SMALL)
  assert.equal(indexer.step().unscanned, 400)
  const shares = [indexer.step().share]
  for (let i = 0; i < 10; i++) {
    await replacePlant(store, plant(BigInt(i - 3000), `changed ${i}`), NO_EXPECTATION, TESTER)
    await deletePlant(store, MANY[399 - i]?.id ?? 0n, NO_EXPECTATION, TESTER)
    await importAll(store, [plant(BigInt(i * 1000), 'new')])
    shares.push(indexer.step().share)
    indexer.close()
    indexer = new Indexer(path, SMALL)
  }
  // Each state of the index gives all names, or says that it is not ready.
  const present = (await exportAll(store)).length
  const reader = new QueryReader(path)
  cleanUp(t, () => reader.close())
  const answered: number[] = []
  for (let isDone = false; !isDone; ) {
    isDone = indexer.step().isDone
    answered.push(namesIn(reader))
  }
  indexer.close()
  assert.deepEqual([new Set(answered), answered.at(-1)], [new Set([0, present]), present])
  const expected = shares.toSorted((a, b) => a - b)
  assert.deepEqual(shares, expected)
  assert.ok(shares[0] !== undefined && shares[0] > 0 && shares[0] < 0.2)
  assertIndexMatches(path)
})

test('an index is made of a plant with the least id and an empty name too, which no other entry precedes', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  await importAll(store, [plant(MIN_ID, ''), plant(MIN_ID + 1n, ''), ...MANY.slice(0, 30)])
  const indexer = new Indexer(path, SMALL)
  cleanUp(t, () => indexer.close())
  const steps = Array.from({ length: 20 }, () => indexer.step())
  assert.deepEqual([steps.at(-1)?.isDone, steps.at(-1)?.share], [true, 1])
  assertIndexMatches(path)
})

/** Counts the plants in the order of their names; 0 where the index is not ready. */
function namesIn(reader: QueryReader): number {
  const read = reader.listPlants({ tags: [], words: [], order: 'name', after: undefined }, 10_000, false)
  try {
    for (let step = read.next(); ; step = read.next()) if (step.done === true) return step.value.ids.length
  } catch (error) {
    if (error instanceof UnreadyIndex) return 0
    throw error
  }
}

test('plants without words, which come and go alone, leave the index whole', async (t) => {
  const faults: unknown[] = []
  const remote = { ...IDLE.remote, rebuild: async (...fault: unknown[]) => void faults.push(fault) }
  const { path, store } = await openSqlite(t, { startFollower: () => ({ ...IDLE, remote }) })
  await importAll(store, MANY.slice(0, 1200))
  const indexer = new Indexer(path)
  cleanUp(t, () => indexer.close())
  const wordless = ['', ' ', '.', '\u0301', '—'].map((name, i) => plant(BigInt(i) - 2n, name, i % 2 ? '/' : undefined))
  const found = async () => {
    while (!indexer.step().isDone);
    assertIndexMatches(path)
    return (await exportAll(store, { tags: [], words: ['monstera', '7'], tagPrefix: 'tag' })).length
  }
  const before = await found()
  for (const each of wordless) {
    await importAll(store, [each], 'update')
    assert.equal(await found(), before)
  }
  for (const { id } of wordless) {
    await deletePlant(store, id, NO_EXPECTATION, TESTER)
    assert.equal(await found(), before)
  }
  assert.deepEqual(faults, [])
})

/** With this name, 50,000 plants are as much work as a search by id does without an index. */
const NAME = 'Monstera deliciosa Liebmann 18'

test('without an index a search by id reads 50,000 plants, and other searches are 50301', async (t) => {
  const many = Array.from({ length: 51_000 }, (_, i) => plant(BigInt(i), i < 50_500 ? NAME : 'Aloe'))
  // Commands do not wait for the index.
  const command = await openSqlite(t, { serving: false })
  await importAll(command.store, many)
  await command.store.close()
  const { path, store } = await openSqlite(t, { path: command.path, startFollower: () => IDLE })
  const page = (words: string[], query: Partial<PlantQuery> = {}) =>
    store.listPlants({ tags: [], words, order: 'id', after: undefined, ...query }, 1000)
  const aloes = many.slice(50_500)
  const assertAnswered = async () => {
    assert.deepEqual(await page(['mons']), many.slice(0, 1000))
    assert.deepEqual(await page(['mons'], { order: '-id' }), many.slice(49_500, 50_500).toReversed())
    assert.deepEqual(await page(['aloe'], { after: { key: '', id: 49_000n } }), aloes)
  }
  await assertAnswered()
  assert.deepEqual(await exportAll(store, { tags: [], words: ['aloe'] }), aloes)
  for (const outcome of await Promise.allSettled([
    page(['aloe']),
    page(['mons'], { order: 'name' }),
    store.listTags({}, 9),
  ])) {
    assert.ok(outcome.status === 'rejected')
    refusal(50301)(outcome.reason)
    assert.match(String(outcome.reason), /the search index is being built: 0% done; /)
  }
  assert.equal((await page([])).length, 1000)
  // After one batch the index contains some plants.
  const indexer = new Indexer(path, { batch: 500, mergeFrom: 1000 })
  for (let i = 0; i < 2; i++) indexer.step()
  indexer.close()
  await assertAnswered()
})

test('while indexing fails, the store logs one notice, takes writes, and answers small searches', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  // A folder in place of the file makes indexing fail.
  mkdirSync(indexPath(path))
  const notices: string[] = []
  const { store } = await openSqlite(t, { path, onNotice: (text) => notices.push(text) })
  await until(() => notices.length > 0, 'the index reports nothing')
  await importAll(store, MANY.slice(0, 100))
  assert.equal((await listAll(store, { words: ['mons'] })).length, 100)
  await sleep(1500)
  assert.equal(notices.length, 1)
  assert.match(notices.join(), /^the search index cannot be written \(.*\); /)
  rmSync(indexPath(path), { recursive: true })
  await until(() => notices.length > 1 || inFileExists(path), 'the index is not built')
  await until(() => behind(path) === 0, 'the index stays behind')
})

function inFileExists(path: string): boolean {
  try {
    behind(path)
    return true
  } catch {
    return false
  }
}

test('the store trims the log of changes up to the durable position of the index, except the newest row', async (t) => {
  const { path, store, reopen } = await openSqlite(t)
  for (let i = 0; i < 20; i++) await importAll(store, [plant(BigInt(i))])
  await until(() => changesIn(path).length === 1, 'the log of changes is not trimmed')
  assert.equal(changesIn(path)[0]?.position, 20n)
  const again = await reopen()
  await deletePlant(again, 3n, NO_EXPECTATION, TESTER)
  const positions = changesIn(path).map(({ position }) => position)
  assert.deepEqual(positions, [20n, 21n])
})

test('the store keeps changes in the log of changes for the configured time', async (t) => {
  const { path, store } = await openSqlite(t, { changesKeep: 3_600_000 })
  for (let i = 0; i < 20; i++) await importAll(store, [plant(BigInt(i))])
  const age = (last: number) =>
    inFile(path, (db) =>
      db.exec(`INSERT INTO steady_times SELECT max(time) - 3700000 + ${last}, 0, ${last} FROM steady_times`),
    )
  age(5)
  await until(() => changesIn(path)[0]?.position === 6n, 'the log of changes is not trimmed')
  await importAll(store, [plant(100n)])
  age(6)
  await until(() => changesIn(path)[0]?.position !== 6n, 'the log of changes is trimmed only once')
  assert.equal(changesIn(path).length, 15)
})

test('an import beside a service waits while the index has too much of it to take', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  await importAll(store, MANY.slice(0, 10))
  indexAll(path)
  const command = await openSqlite(t, { path, serving: false })
  // Imports of other commands are charged to no token.
  let isDone = false
  const imported = (async () => {
    for (let i = 10; i < MANY.length; i += 500) await importAll(command.store, MANY.slice(i, i + 500))
    isDone = true
  })()
  await until(async () => (await store.countPlants()) >= 4000, 'the command imports too little')
  await sleep(200)
  const present = await store.countPlants()
  assert.ok(!isDone && present < 6000, `${present} plants were imported`)
  await until(() => {
    indexAll(path)
    return isDone
  }, 'the command never goes on')
  await imported
})

test('a step that ends before the newest change indexes each plant as it was at the end of the step', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  const states = ['first', 'second', 'third'].map((word) =>
    MANY.slice(0, 12).map(({ id }) => plant(id, `${word} name`, `tag ${word}`)),
  )
  await importAll(store, states[0] ?? [])
  indexAll(path)
  for (const state of states.slice(1)) {
    for (const changed of state) await replacePlant(store, changed, NO_EXPECTATION, TESTER)
  }
  const indexer = new Indexer(path, SMALL)
  cleanUp(t, () => indexer.close())
  for (let isDone = false; !isDone; ) {
    const progress = indexer.step()
    assert.equal(progress.rebuilt, undefined)
    isDone = progress.isDone
    assert.deepEqual(await listAll(store, { words: ['second'] }), [])
    assert.deepEqual(await listAll(store, { words: ['third'], order: 'name' }), states[2])
    assert.deepEqual(await store.listTags({}, 9), [{ tag: 'tag third', plants: 12 }])
  }
  assertIndexMatches(path)
})

test('the store restarts an index thread that has ended', async (t) => {
  let started = 0
  const ends: ((why: string) => void)[] = []
  const notices: string[] = []
  const { store } = await openSqlite(t, {
    startFollower: (_, events) => {
      started++
      ends.push((why) => events.onEnd(new Error(why), 0))
      return IDLE
    },
    onNotice: (text) => notices.push(text),
  })
  cleanUp(t, () => store.close())
  ends[0]?.('out of memory')
  await importAll(store, [plant(1n)])
  assert.deepEqual(await listAll(store, { words: ['plant'] }), [plant(1n)])
  await until(() => started === 2, 'the indexer is not started again')
  assert.deepEqual(notices, [
    'the search index cannot be written (out of memory); the service refuses large searches meanwhile',
  ])
})

test('an index made anew writes less than three times its size, and five pages of 4 KiB for a plant deleted anywhere', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the bytes that a process writes, because only Linux counts them')
  const { path, store } = await openSqlite(t, { serving: false })
  const plants = Array.from({ length: 60_000 }, (_, i) => ({ ...plantOf(i), tag: `acc/${(i * 7919) % 60_000}` }))
  await store.importPlants(plants, 'add', TESTER)
  const indexer = new Indexer(path)
  cleanUp(t, () => indexer.close())
  const before = writtenBytes()
  while (!indexer.step().isDone);
  indexer.restartWal()
  const written = (writtenBytes() - before) / statSync(indexPath(path)).size
  assert.ok(written < 3, `${written} times its size`)
  const deleted = Array.from({ length: 100 }, (_, i) => plants[(i * 7919) % plants.length] ?? assert.fail())
  for (const { id } of deleted) await deletePlant(store, id, NO_EXPECTATION, TESTER)
  while (!indexer.step().isDone);
  const pages = statSync(`${indexPath(path)}-wal`).size / deleted.length / 2 ** 12
  assert.ok(pages < 6, `${pages} pages`)
})

/** Bytes that this process has written so far (proc_pid_io(5)). */
const writtenBytes = (): number => Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
