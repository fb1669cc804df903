import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import type { PlantOrder } from '../src/domain/plant-query.ts'
import type { Actor } from '../src/domain/token.ts'
import { indexPath, monotonicTime } from '../src/sqlite/indexed.ts'
import { IndexThrottle } from '../src/sqlite/search-index/index-throttle.ts'
import { type FollowerEvents, SearchIndex } from '../src/sqlite/search-index/search-index.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { expectedPlants } from './support/expected.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { assertIndexMatches, IDLE, inFile, steppedIndex } from './support/sqlite-indexes.ts'
import { exportAll, importAll, listAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { until } from './support/until.ts'

const ATTACKER: Actor = { id: 'tok_attacker', name: 'attacker' }
const OTHER: Actor = { id: 'tok_other', name: 'other' }

/** A text of `units` characters whose words all differ, and differ from those of other texts by `start`. */
function differentWords(start: string, units: number): string {
  const words: string[] = []
  for (let i = 0, length = 0; length < units; i++) {
    words.push(`${start}${(i * 7919).toString(36)}`)
    length += (words[i]?.length ?? 0) + 1
  }
  return words.join(' ').slice(0, units)
}

const large = (id: bigint): NewPlant => plant(id, `${differentWords(`w${id}x`, 600_000)} last${id}`)

/** Whether a promise has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let isSo = false
  const settle = () => {
    isSo = true
  }
  promise.then(settle, settle)
  await nextTurn()
  return isSo
}

test('a token whose large plants are not indexed yet waits, and delays neither writes nor searches of others', async (t) => {
  const index = steppedIndex()
  const { store } = await openSqlite(t, { startFollower: index.start })
  while (!index.step().isDone);
  await store.createPlant(large(1n), { mustBeNew: false }, ATTACKER)
  const waiting = [
    store.createPlant(large(2n), { mustBeNew: false }, ATTACKER),
    replacePlant(store, plant(3n), NO_EXPECTATION, ATTACKER),
    store.createPlant(plant(4n), { mustBeNew: false }, ATTACKER),
    store.importPlants([plant(5n)], 'add', ATTACKER),
  ]
  const ids = Array.from({ length: 50 }, (_, i) => BigInt(i + 100))
  await Promise.all(ids.map((id) => store.createPlant(plant(id, 'fern'), { mustBeNew: false }, OTHER)))
  await replacePlant(store, plant(100n, 'moss'), NO_EXPECTATION, OTHER)
  await deletePlant(store, 101n, NO_EXPECTATION, OTHER)
  await store.importPlants([plant(99n, 'moss')], 'add', OTHER)
  const present = (await listAll(store)).map(({ id }) => id)
  assert.deepEqual(present, [1n, 99n, ...ids.filter((id) => id !== 101n)])
  while (!index.step().isDone);
  const found = await listAll(store, { words: ['moss'] })
  assert.deepEqual(found, [plant(99n, 'moss'), plant(100n, 'moss')])
  let isDone = false
  const all = Promise.all(waiting).then(() => {
    isDone = true
  })
  const follow = () => {
    index.step()
    return isDone
  }
  await until(follow, 'the writes of the token never begin')
  await all
  assert.equal(await store.countPlants(), 55)
})

test('patches and deletes of large plants wait for the index like creates of them', async (t) => {
  const index = steppedIndex()
  const { store } = await openSqlite(t, { startFollower: index.start })
  await store.importPlants([1n, 2n, 3n, 4n].map(large), 'add', TESTER)
  while (!index.step().isDone);
  let done = 0
  const changes = [
    ...[1n, 2n].map((id) => updatePlant(store, id, { tag: 'sold' }, NO_EXPECTATION, ATTACKER)),
    ...[3n, 4n].map((id) => deletePlant(store, id, NO_EXPECTATION, ATTACKER)),
  ].map((change) => change.then(() => done++))
  for (let i = 0n; i < 20n; i++) await replacePlant(store, plant(100n + i), NO_EXPECTATION, OTHER)
  assert.ok(done <= 1, `${done} changes did not wait`)
  const follow = () => {
    index.step()
    return done === changes.length
  }
  await until(follow, 'the changes never begin')
  await Promise.all(changes)
  assert.equal(await store.countPlants(), 22)
})

test('a search leaves a large plant to the index, and finds it by its last word', async (t) => {
  const index = steppedIndex()
  const { store } = await openSqlite(t, { startFollower: index.start })
  while (!index.step().isDone);
  const plants = [large(1n), large(2n)]
  for (const { id, name } of plants) {
    await store.createPlant(plant(id, name), { mustBeNew: false }, { id: `tok_${id}`, name: '' })
  }
  const search = listAll(store, { words: ['last2'] })
  // The same thread answers these, in longer than the search would take to look the plants up.
  for (let i = 0; i < 20; i++) await listAll(store)
  assert.equal(await isSettled(search), false)
  while (!index.step().isDone);
  assert.deepEqual(await search, plants.slice(1))
})

test('a search that has too much text to look up is 50301, and is answered once the index has the text', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const index = steppedIndex()
  const { store } = await openSqlite(t, { path, startFollower: index.start })
  while (!index.step().isDone);
  const plants = [1n, 2n, 3n, 4n, 5n, 6n].map(large)
  for (const { id, name } of plants) {
    await store.createPlant(plant(id, name), { mustBeNew: false }, { id: `tok_${id}`, name: '' })
  }
  await assert.rejects(listAll(store, { words: ['last4'], order: 'name' }), refusal(50301))
  assert.equal((await listAll(store)).length, 6)
  while (!index.step().isDone);
  assert.deepEqual(await listAll(store, { words: ['last4'], order: 'name' }), plants.slice(3, 4))
})

test('changes of one token run ahead of the index by 4,000 plants, however many it sends', async (t) => {
  const index = steppedIndex()
  const { store } = await openSqlite(t, { startFollower: index.start })
  while (!index.step().isDone);
  const many = Array.from({ length: 20_000 }, (_, i) => plant(BigInt(i), `Monstera deliciosa number ${i}`))
  const imports: Promise<unknown>[] = []
  for (let i = 0; i < many.length; i += 500) {
    imports.push(store.importPlants(many.slice(i, i + 500), 'add', ATTACKER))
  }
  const all = Promise.all(imports)
  let [isDone, indexed, most] = [false, 0, 0]
  const ended = all.then(() => {
    isDone = true
  })
  const follow = async () => {
    most = Math.max(most, (await store.countPlants()) - indexed)
    indexed = index.step().position
    return isDone
  }
  await until(follow, 'the imports never end')
  await ended
  assert.ok(most > 3000 && most <= 4500, `the index was ${most} changes behind`)
  assert.equal(await store.countPlants(), many.length)
})

test('the throttle', async (t) => {
  const LARGE = 300_000

  await t.test('takes from each of many tokens its part, so that the sum is bounded', () => {
    const throttle = new IndexThrottle()
    let begun = 0
    for (let round = 0; round < 200; round++) {
      for (let token = 0; token < 50; token++) {
        const waits = throttle.admit(`tok_${token}`, 1000, true)
        if (waits === undefined) begun++
      }
    }
    throttle.reset()
    assert.ok(begun >= 400 && begun <= 600, `${begun} writes of a kilobyte began`)
  })

  await t.test('makes room by what the index has taken, whosever it is', async () => {
    const throttle = new IndexThrottle()
    for (const actor of ['one', 'two']) {
      assert.equal(throttle.admit(actor, 200_000, false), undefined)
      throttle.wrote(actor, 200_000, 200_000, 100)
    }
    const waiting = ['one', 'two'].map((actor) => throttle.admit(actor, 100_000, false) ?? assert.fail())
    const now = monotonicTime()
    // Another process wrote 30 changes, so the index has taken 100 of the first token and 20 of the second.
    throttle.indexed(80 + 30, now)
    await waiting[0]
    assert.equal(await isSettled(waiting[1] ?? assert.fail()), false)
    throttle.indexed(30, now)
    await waiting[1]
  })

  await t.test('begins no large write while a search waits for the index', async () => {
    const throttle = new IndexThrottle()
    const ends = [throttle.beginSearch(), throttle.beginSearch()]
    const waiting = throttle.admit('one', LARGE, false) ?? assert.fail()
    assert.equal(throttle.admit('two', 1000, false), undefined)
    ends[0]?.()
    assert.equal(await isSettled(waiting), false)
    ends[1]?.()
    await waiting
  })

  await t.test('takes back the charge of a write that failed or changed nothing', () => {
    const throttle = new IndexThrottle()
    for (let i = 0; i < 10; i++) {
      assert.equal(throttle.admit('one', LARGE, false), undefined)
      throttle.wrote('one', LARGE, 0, 0)
    }
  })

  await t.test('refuses a write that waited for 20 s, and one behind 32 MiB, but no part of an import', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const throttle = new IndexThrottle()
    assert.equal(throttle.admit('one', LARGE, false), undefined)
    const [refused, part] = [throttle.admit('one', LARGE, false), throttle.admit('one', LARGE, true)]
    const others = Array.from({ length: 200 }, () => throttle.admit('one', LARGE, true))
    await assert.rejects(throttle.admit('one', 1, false) ?? assert.fail(), refusal(42901))
    t.mock.timers.tick(20_000)
    await assert.rejects(refused ?? assert.fail(), refusal(42901))
    await Promise.all([part, ...others])
  })
})

/** The plants whose words the full-text index, which takes ten times as long, does not hold. */
const widePlants = (path: string): unknown[] =>
  inFile(indexPath(path), (db) =>
    db
      .prepare('SELECT DISTINCT plant FROM wide_words ORDER BY plant')
      .all()
      .map((row) => row['plant']),
  )

test('plants with very many words are found by each of them, in every order, and only by these', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const index = steppedIndex()
  const { store } = await openSqlite(t, { path, startFollower: index.start })
  const chinese = Array.from({ length: 40_000 }, (_, i) =>
    String.fromCodePoint(0x4e00 + (i % 20_000), 0x20000 + (i % 997)),
  )
  const name = differentWords('q', 100_000)
  const long = 'supercalifragilisticexpialidocious'
  const plants = [
    plant(-5n, `Rosa ${name} zuletzt`, 'fern'),
    plant(1n, `rosa ${'canina '.repeat(12_000)} zuletzt`, 'fern'),
    plant(2n, 'Rosa zuletzt', 'moss'),
    plant(3n, `${chinese.join(' ')} zuletzt ${long}x`, `fern ${name}`),
    plant(4n, `Äpfel ${name} Zuletzt ${long}y rosa`, 'moss'),
    plant(5n, `${name} andere`),
    plant(6n, 'rosa'),
  ]
  const expectSearches = async (present: readonly NewPlant[]) => {
    const searches = [
      ['zuletzt'],
      ['zul', 'rosa'],
      ['rosa', 'z'],
      [`${long}y`],
      [long],
      ['supercali'],
      ['q7'],
      ['apfel'],
    ]
    searches.push(['rosa', 'q7'], ['qzzzzzzz'], [chinese[30_000] ?? ''], ['rosa', 'canina', 'zuletzt'], ['ander'])
    for (const [i, words] of searches.entries()) {
      const orders: PlantOrder[] = i % 2 === 0 ? ['id', '-name'] : ['-id', 'name']
      for (const order of orders) {
        for (const tags of [[], ['moss', 'fern']]) {
          const query = { words, tags, order, after: undefined }
          const found = await listAll(store, query)
          const ids = (all: readonly NewPlant[]) => all.map(({ id }) => id)
          assert.deepEqual(ids(found), ids(expectedPlants(present, query, 1000)), `${words} ${order} ${tags}`)
        }
      }
    }
    const exported = await exportAll(store, { tags: [], words: ['zuletzt'] })
    assert.deepEqual(
      exported,
      expectedPlants(present, { tags: [], words: ['zuletzt'], order: 'id', after: undefined }, 99),
    )
  }
  await importAll(store, plants)
  while (!index.step().isDone);
  assertIndexMatches(path)
  assert.deepEqual(widePlants(path), [-5n, 3n, 4n, 5n])
  await expectSearches(plants)
  const changed = plant(-5n, 'Rosa', 'fern')
  await replacePlant(store, changed, NO_EXPECTATION, TESTER)
  await deletePlant(store, 4n, NO_EXPECTATION, TESTER)
  while (!index.step().isDone);
  await replacePlant(store, plant(6n, `${name} rosa zuletzt`), NO_EXPECTATION, TESTER)
  const present = [changed, ...plants.slice(1, 4), ...plants.slice(5, 6), plant(6n, `${name} rosa zuletzt`)]
  while (!index.step().isDone);
  assertIndexMatches(path)
  assert.deepEqual(widePlants(path), [3n, 5n, 6n])
  await expectSearches(present)
})

test('a report that arrives late does not hide a write that its step could not see', async (t) => {
  const opened = Promise.withResolvers<FollowerEvents>()
  const ignore = () => {}
  const index = new SearchIndex(join(tempFolder(t), 'plants.db'), {
    start: (_, events) => {
      opened.resolve(events)
      return IDLE
    },
    mayStart: () => true,
    onNotice: ignore,
    onDurable: ignore,
    onUnusable: ignore,
    onStoreFault: ignore,
  })
  index.start()
  const { onProgress } = await opened.promise
  const startedAt = monotonicTime()
  index.wrote('one', 0, 100, 1)
  onProgress({ progress: { position: 0, behind: 0, indexed: 0, share: 1, isDone: true }, startedAt })
  assert.equal(index.behind, 1)
  await index.close()
})
