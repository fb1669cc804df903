import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type NewPlant, NO_EXPECTATION } from '../../src/domain/plant.ts'
import { matches, type PlantQuery, positionOf, SORT_KEY_LENGTH } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import { openReader } from '../../src/sqlite/connection.ts'
import { firstOfLists } from '../../src/sqlite/lookup.ts'
import { StatementCache } from '../../src/sqlite/rows.ts'
import { Indexer } from '../../src/sqlite/search-index/indexer.ts'
import type { StartFollower } from '../../src/sqlite/search-index/search-index.ts'
import { exportTests } from '../export-suite.ts'
import { freshnessTests, propertyTests } from '../freshness-suite.ts'
import { listTests } from '../list-suite.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from '../support/change-plant.ts'
import { cleanUp, type Scene } from '../support/clean-up.ts'
import { expectedPlants } from '../support/expected.ts'
import { tempFolder } from '../support/files.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { assertIndexMatches, behind, IDLE, indexAll } from '../support/sqlite-indexes.ts'
import { importAll, listAll } from '../support/store-calls.ts'
import { openShared, plant, type StoreUnderTest, suiteOf } from '../support/store-under-test.ts'
import { taggingTests, tagTests } from '../tag-suite.ts'

const READS = new Set<unknown>(['listPlants', 'listTags', 'exportPlants'])
/** Small bounds, so that a few plants take several steps and names are merged often. */
const SMALL = { batch: 3, mergeFrom: 7 }

/** A store whose index takes in all changes, the oldest ones or none before each read. */
async function openIndexing(t: Scene, options: { maxWaiting?: number } = {}): Promise<StoreUnderTest> {
  const path = join(tempFolder(t), 'plants.db')
  // Writes wait for an index that makes progress, and the reads of this test make it.
  const startFollower: StartFollower = (_, { onProgress }) => {
    onProgress({ fault: 'the test updates it' })
    return IDLE
  }
  const opened = await openSqlite(t, { ...options, path, startFollower })
  const indexer = new Indexer(path, SMALL)
  cleanUp(t, () => indexer.close())
  let reads = 0
  const beforeRead = () => {
    const steps = [1_000_000, 1, 0][reads++ % 3] ?? 0
    for (let step = 0; step < steps && !indexer.step().isDone; step++);
  }
  return { ...opened, store: observed(opened.store, beforeRead) }
}

function observed(store: Store, beforeRead: () => void): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        if (READS.has(name)) beforeRead()
        return method.apply(target, args) as unknown
      }
    },
  })
}

const suite = suiteOf('SQLite, indexed at various times', openShared(openIndexing))
for (const tests of [listTests, freshnessTests, propertyTests, tagTests, taggingTests, exportTests]) tests(suite)

const MANY = Array.from({ length: 6000 }, (_, i) => plant(BigInt(i - 3000), `Monstera ${i}`, `tag ${i % 3}`))

test('SQLite: the next start finds and indexes plants that were not indexed when the store closed', async (t) => {
  const { path, store, reopen } = await openSqlite(t)
  await importAll(store, MANY)
  await reopen()
  const again = await reopen()
  assert.deepEqual(await listAll(again, { words: ['monstera'] }), MANY)
  assert.equal((await again.listTags({}, 10)).length, 3)
  while (behind(path) > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await again.close()
  assertIndexMatches(path)
})

test('SQLite: a search finds plants of any script before they are indexed', async (t) => {
  const { store } = await openSqlite(t, { startFollower: () => IDLE })
  const names = ['JASMINUM', 'jasmín', 'Ｊasmin', 'a\0jasmin', `${'x '.repeat(400)}jasmin`, 'ﬁ jasmin', 'rosa', 'rosé']
  const plants = names.map((name, i) => plant(BigInt(i), name, i === 6 ? 'Jasmine' : i === 7 ? 'jasmíne' : undefined))
  await importAll(store, [...plants, plant(100n, 'jas min', 'jas'), plant(101n, 'rosa')])
  assert.deepEqual(await listAll(store, { words: ['jasmin'] }), plants)
  assert.deepEqual(await listAll(store, { words: ['jasmin'], tags: ['Jasmine', 'none'] }), [plants[6]])
  assert.deepEqual(await listAll(store, { tags: ['jas'] }), [plant(100n, 'jas min', 'jas')])
})

test('SQLite: a search for a prefix without an index finds ids below and above 0, however many', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  // The later term has the lower id, so FTS5 merges two lists. At 64 bytes in total it wrote past the end.
  const plants = [plant(-(2n ** 63n), 'abcdefghib')]
  await importAll(store, plants)
  for (let id = 1n; id <= 70n; id++) {
    plants.push(plant(id, 'abcdefghia'))
    await importAll(store, plants.slice(-1))
    indexAll(path)
    assert.deepEqual(await listAll(store, { words: ['abcdefghi'] }), plants)
  }
  assert.deepEqual(await listAll(store, { words: ['abcdefghib'] }), plants.slice(0, 1))
})

test('SQLite: the first plants by name are found among all that may match, whatever their names are', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  const long = 'a'.repeat(SORT_KEY_LENGTH - 8)
  const names = ['Rosa', 'rosa', 'ÄPFEL ROSA', 'ärmel rosa', 'b\0 rosa', 'ﬁg rosa', '𝒄 rosa', `${long}c rosa`]
  const varied = (i: number) => `${names[i % names.length]} ${i % 3 === 0 ? 2500 - i : ''}`
  // Some keys end before their names do, and then decide nothing.
  const cut = (i: number) => `${long}bbbbbbbb ${i % 2} rosa`
  const plants = Array.from({ length: 2500 }, (_, i) => plant(BigInt(i), i % 9 === 0 ? cut(i) : varied(i), 'tag'))
  plants.push(...[2500n, 2501n].map((id) => plant(id, 'another')))
  await importAll(store, plants)
  const db = openReader(path)
  cleanUp(t, () => db.close())
  const ids = plants.map(({ id }) => id)
  const statements = new StatementCache(db)
  const unindexed = new Set([7n, 8n, 9n, 2400n])
  const rest = plants.filter(({ id }) => !unindexed.has(id))
  for (const order of ['name', '-name'] as const) {
    let query: PlantQuery = { tags: [], words: ['rosa'], order, after: undefined }
    for (const limit of [1, 10, 99, 300, 100, 299, 3, 700, 1000, 99]) {
      const isFound = (found: NewPlant) => !unindexed.has(found.id) && matches(query, found)
      const search = { query, limit, isFound }
      const some = limit % 3 === 0 ? ids : ids.toReversed()
      const task = firstOfLists(statements, search, () =>
        [some.slice(0, 1000), some.slice(1000)].map((part) => `[${part}]`),
      )
      let step = task.next()
      while (step.done !== true) step = task.next()
      assert.deepEqual(step.value, expectedPlants(rest, query, limit))
      const last = step.value.at(-1)
      query = { ...query, after: last && positionOf(order, last) }
    }
    assert.equal(query.after, undefined)
  }
})

/** A store with a whole index, which only the test changes. */
async function openIndexed(t: TestContext, plants: readonly NewPlant[]) {
  const { path, store } = await openSqlite(t)
  await importAll(store, plants)
  await store.close()
  indexAll(path)
  return openSqlite(t, { path, startFollower: () => IDLE })
}

/** Asserts that pages by name have the right plants, from their beginning, and from the keys of some names on. */
async function assertPages(store: Store, word: string, keys: readonly string[], plants: readonly NewPlant[]) {
  for (const order of ['name', '-name'] as const) {
    for (const key of [undefined, ...keys]) {
      const query: PlantQuery = { tags: [], words: [word], order, after: key === undefined ? key : { key, id: 3000n } }
      const expected = expectedPlants(plants, query, 50)
      assert.deepEqual(await store.listPlants(query, 50), expected, `${word} ${order} after ${key}`)
    }
  }
}

test('SQLite: plants with one word are found by name, whether it begins all of their names or only most', async (t) => {
  const plants = Array.from({ length: 42_000 }, (_, i) => {
    const genus = i % 14 < 11 ? 'Rosa' : i % 14 < 13 ? 'Abies' : 'Zea'
    return plant(BigInt(i), `${genus} ${(i * 7919) % 1000}`, i % 2 === 0 ? 'common bed' : 'bed')
  })
  const { path, store } = await openIndexed(t, plants)
  const changed = (present: readonly NewPlant[], others: readonly NewPlant[]) => {
    const ids = new Set(others.map(({ id }) => id))
    return present.filter(({ id }) => !ids.has(id)).concat(others)
  }
  const KEYS = ['ros', 'rosa 500', 'rosb']
  await assertPages(store, 'rosa', KEYS, plants)
  await assertPages(store, 'common', KEYS, plants)
  // Plants that the index lacks, or has in an old state.
  const others = [plant(3n, 'Abies 1', undefined), plant(50_000n, 'Zea rosa', undefined), plant(50_001n, 'Rosa', 'new')]
  await importAll(store, others, 'update')
  const present = changed(plants, others)
  await assertPages(store, 'rosa', KEYS, present)
  indexAll(path)
  await assertPages(store, 'rosa', KEYS, present)
})

test('SQLite: a word that only the first or last names have is found by name, whatever begins these', async (t) => {
  const early = ['Aa', 'aé', "'Abies'", '9 lives', 'b', 'Ca', 'c'].map((start) => `${start} early`)
  const late = ['Xa', 'xz', 'xé', 'x', 'y', 'ÿ', 'Zea', 'я'].map((start) => `${start} late`)
  // A walk through all names takes longer than to read the words.
  const name = (i: number) => (i < 10_000 ? 'm' : i % 2 === 0 ? early[i % early.length] : late[i % late.length])
  const plants = Array.from({ length: 15_000 }, (_, i) => plant(BigInt((i * 7919) % 15_000), `${name(i)} ${i % 97}`))
  const { store } = await openIndexed(t, plants)
  for (const word of ['early', 'late']) await assertPages(store, word, ['b', 'y 5'], plants)
})

test('SQLite: after any writes the index contains exactly the present plants', async (t) => {
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  const indexer = new Indexer(path, SMALL)
  cleanUp(t, () => indexer.close())
  const odd = ['a\0b', '"quoted" \\ \u2028 \u0001', 'ä\n😀', ''].map((name, i) =>
    plant(2n ** 63n - 1n - BigInt(i), name, name),
  )
  await importAll(store, [...odd, plant(-(2n ** 63n), 'first')])
  for (let round = 0; round < 40; round++) {
    const some = MANY.slice(round * 7, round * 7 + 30)
    const all = some.map(({ id }) => plant(id, `name ${round % 5}`, round % 4 === 0 ? undefined : `tag ${round % 3}`))
    await importAll(store, all, 'update')
    if (round % 3 === 0) indexer.step()
    for (const { id } of some.slice(0, 9)) await deletePlant(store, id, NO_EXPECTATION, TESTER)
    for (const { id } of some.slice(9, 15))
      await updatePlant(store, id, { name: `changed ${round}`, tag: null }, NO_EXPECTATION, TESTER)
    await replacePlant(store, plant(some[20]?.id ?? 0n, '', ''), NO_EXPECTATION, TESTER)
    if (round % 7 === 0) while (!indexer.step().isDone);
  }
  await store.close()
  assert.ok(indexAll(path, SMALL).length > 10, 'indexing took several steps')
  assertIndexMatches(path)
})
