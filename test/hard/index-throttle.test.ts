import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type NewPlant, NO_EXPECTATION } from '../../src/domain/plant.ts'
import type { Actor } from '../../src/domain/token.ts'
import { type IndexProgress, monotonicTime } from '../../src/sqlite/indexed.ts'
import { IndexThrottle } from '../../src/sqlite/search-index/index-throttle.ts'
import { type FollowerEvents, SearchIndex } from '../../src/sqlite/search-index/search-index.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from '../support/change-plant.ts'
import { tempFolder } from '../support/files.ts'
import { fullPlants } from '../support/full-plants.ts'
import { openSqlite } from '../support/open-sqlite.ts'
import { IDLE, steppedIndex } from '../support/sqlite-indexes.ts'
import { listAll } from '../support/store-calls.ts'
import { plant, refusal } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'

const ATTACKER: Actor = { id: 'tok_attacker', name: 'attacker' }
const OTHER: Actor = { id: 'tok_other', name: 'other' }

/** 400 plants of the largest size, the last of which has a word of its own: more text than a search looks up. */
const much = (round: number): NewPlant[] => {
  const plants = fullPlants(399, { from: round * 1000, unit: '🌵' })
  return [...plants, plant(BigInt(round * 1000 + 399), `last${round}`)]
}

const COMPLETE: IndexProgress = { position: 0, behind: 0, unscanned: 0, indexed: 1, share: 1, isDone: true }

const idsAlone = (plants: readonly NewPlant[]) => plants.map(({ id }) => ({ id, name: '', tag: undefined }))

/** More work than one token may have. */
const LARGE = 300_000

/** A store whose index, which is complete, takes its further steps when the test wants. */
async function openStepped(t: TestContext) {
  const index = steppedIndex()
  const { store } = await openSqlite(t, { startFollower: index.start })
  while (!index.step().isDone);
  return { store, index }
}

/** An index whose followers a test plays. */
function followedIndex(t: TestContext) {
  const started: FollowerEvents[] = []
  let closed = 0
  const ignore = () => {}
  const index = new SearchIndex(join(tempFolder(t), 'plants.db'), {
    start: (_, events) => {
      started.push(events)
      return { ...IDLE, close: async () => void closed++ }
    },
    mayStart: () => true,
    onNotice: ignore,
    onDurable: ignore,
    onUnusable: ignore,
    onStoreFault: ignore,
  })
  t.after(() => index.close())
  index.start()
  return { index, started, events: started[0] ?? assert.fail(), closed: () => closed }
}

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

test('a token whose plants are not indexed yet waits, and delays neither writes nor searches of others', async (t) => {
  const { store, index } = await openStepped(t)
  await store.importPlants(much(1), 'add', ATTACKER)
  const waiting = [
    store.importPlants(much(2), 'add', ATTACKER),
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
  assert.deepEqual(present, [99n, ...ids.filter((id) => id !== 101n), ...much(1).map(({ id }) => id)])
  while (!index.step().isDone);
  const found = await listAll(store, { words: ['moss'] })
  assert.deepEqual(found, [plant(99n, 'moss'), plant(100n, 'moss')])
  const all = Promise.all(waiting)
  await until(async () => {
    index.step()
    return isSettled(all)
  }, 'the writes of the token never begin')
  await all
  assert.equal(await store.countPlants(), 853)
})

test('patches and deletes wait for the index by the size of their plants, like creates of them', async (t) => {
  const { store, index } = await openStepped(t)
  const full = fullPlants(80, { unit: '🌵' })
  await store.importPlants(full, 'add', TESTER)
  while (!index.step().isDone);
  let done = 0
  const changes = full
    .map(({ id }) =>
      id % 2n === 0n
        ? updatePlant(store, id, { tag: 'sold' }, NO_EXPECTATION, ATTACKER)
        : deletePlant(store, id, NO_EXPECTATION, ATTACKER),
    )
    .map((change) => change.then(() => done++))
  for (let i = 0n; i < 20n; i++) await replacePlant(store, plant(100n + i), NO_EXPECTATION, OTHER)
  assert.ok(done <= 60, `${done} changes did not wait`)
  await until(() => {
    index.step()
    return done === changes.length
  }, 'the changes never begin')
  await Promise.all(changes)
  assert.equal(await store.countPlants(), 60)
})

test('patches of small plants do not wait for the index, whatever a patch may be', async (t) => {
  const { store, index } = await openStepped(t)
  const small = Array.from({ length: 500 }, (_, i) => plant(BigInt(i)))
  await store.importPlants(small, 'add', TESTER)
  while (!index.step().isDone);
  // Before their commit, they are charged as for plants of the largest size, ten times what a token may have.
  await Promise.all(small.map(({ id }) => updatePlant(store, id, { tag: 'sold' }, NO_EXPECTATION, OTHER)))
})

test('deletes by ids alone are charged by the stored plants', async (t) => {
  const { store, index } = await openStepped(t)
  const small = Array.from({ length: 1500 }, (_, i) => plant(BigInt(i)))
  await store.importPlants([...small, ...much(2)], 'add', TESTER)
  while (!index.step().isDone);
  // No step of the index makes room for the next part.
  for (let i = 0; i < small.length; i += 250) {
    await store.importPlants(idsAlone(small.slice(i, i + 250)), 'delete', OTHER)
  }
  await store.importPlants(idsAlone(much(2)), 'delete', ATTACKER)
  const next = store.importPlants(idsAlone(small), 'delete', ATTACKER)
  // The writer answers in its order: it reads these plants before the first create, and would delete before the second.
  for (const id of [1n, 2n]) await store.createPlant(plant(id), { mustBeNew: true }, TESTER)
  assert.equal(await isSettled(next), false)
  while (!index.step().isDone);
  assert.deepEqual((await next).slice(0, 4), ['unchanged', 'deleted', 'deleted', 'unchanged'])
})

test('a search leaves much text to the index, and finds its last word', async (t) => {
  const { store, index } = await openStepped(t)
  await store.importPlants(much(1), 'add', ATTACKER)
  const search = listAll(store, { words: ['last1'] })
  // The same thread answers these, in longer than the search would take to look the plants up.
  for (let i = 0; i < 20; i++) await listAll(store)
  assert.equal(await isSettled(search), false)
  while (!index.step().isDone);
  assert.deepEqual(await search, much(1).slice(-1))
})

test('a search that has too much text to look up is 50301, and is answered once the index has the text', async (t) => {
  const { store, index } = await openStepped(t)
  for (const round of [1, 2, 3]) await store.importPlants(much(round), 'add', { id: `tok_${round}`, name: '' })
  await assert.rejects(listAll(store, { words: ['last2'], order: 'name' }), refusal(50301))
  assert.equal((await listAll(store)).length, 1200)
  while (!index.step().isDone);
  assert.deepEqual(await listAll(store, { words: ['last2'], order: 'name' }), much(2).slice(-1))
})

test('changes of one token run ahead of the index by 4,000 plants, however many it sends', async (t) => {
  const { store, index } = await openStepped(t)
  const many = Array.from({ length: 20_000 }, (_, i) => plant(BigInt(i), `Monstera deliciosa number ${i}`))
  const imports: Promise<unknown>[] = []
  for (let i = 0; i < many.length; i += 500) {
    imports.push(store.importPlants(many.slice(i, i + 500), 'add', ATTACKER))
  }
  const all = Promise.all(imports)
  let [indexed, most] = [0, 0]
  await until(async () => {
    most = Math.max(most, (await store.countPlants()) - indexed)
    indexed = index.step().position
    return isSettled(all)
  }, 'the imports never end')
  await all
  assert.ok(most > 3000 && most <= 4500, `the index was ${most} changes behind`)
  assert.equal(await store.countPlants(), many.length)
})

test('the throttle', async (t) => {
  await t.test('takes from each of many tokens its part, so that the sum is bounded', () => {
    const throttle = new IndexThrottle()
    let begun = 0
    for (let round = 0; round < 200; round++) {
      for (let token = 0; token < 50; token++) {
        if (throttle.begin(`tok_${token}`, 1000)) begun++
      }
    }
    assert.ok(begun >= 400 && begun <= 600, `${begun} writes of a kilobyte began`)
  })

  await t.test('makes room by what the index has taken, whosever it is', () => {
    const throttle = new IndexThrottle()
    for (const actor of ['one', 'two']) {
      assert.ok(throttle.begin(actor, 200_000))
      throttle.wrote(actor, 200_000, 200_000, 100)
      assert.equal(throttle.begin(actor, 100_000), false)
    }
    const now = monotonicTime()
    // Another process wrote 30 changes, so the index has taken 100 of the first token and 20 of the second.
    throttle.indexed(80 + 30, now)
    assert.ok(throttle.begin('one', 100_000))
    assert.equal(throttle.begin('two', 100_000), false)
    throttle.indexed(30, now)
    assert.ok(throttle.begin('two', 100_000))
  })

  await t.test('takes back the charge of a write that failed or changed nothing', () => {
    const throttle = new IndexThrottle()
    for (let i = 0; i < 10; i++) {
      assert.ok(throttle.begin('one', LARGE))
      throttle.wrote('one', LARGE, 0, 0)
    }
  })
})

test('the index refuses a write that waited for 20 s, but no part of an import', async (t) => {
  const { index } = followedIndex(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let now = Math.ceil(performance.now())
  t.mock.method(performance, 'now', () => now)
  assert.equal(index.admit('one', LARGE), undefined)
  const refused = index.admit('one', LARGE) ?? assert.fail()
  const part = index.admit('one', LARGE, true) ?? assert.fail()
  assert.equal(await isSettled(refused), false)
  now += 20_000
  t.mock.timers.tick(20_000)
  await assert.rejects(refused, refusal(42901))
  await part
})

test('writes of a token that wait begin in their order, and those of others do not wait behind them', async (t) => {
  const { index, events } = followedIndex(t)
  assert.equal(index.admit('one', LARGE), undefined)
  index.wrote('one', LARGE, LARGE, 1)
  const begun: string[] = []
  const waiting = ['first', 'second'].map(async (name) => {
    await (index.admit('one', LARGE) ?? assert.fail())
    begun.push(name)
  })
  assert.equal(index.admit('two', 100), undefined)
  events.onProgress({ progress: COMPLETE, startedAt: monotonicTime() })
  await waiting[0]
  assert.deepEqual(begun, ['first'])
  // A commit that changed nothing makes room at once.
  index.wrote('one', LARGE, 0, 0)
  await waiting[1]
  const last = index.admit('one', LARGE) ?? assert.fail()
  assert.equal(await isSettled(last), false)
  index.beginAll()
  await last
})

test('a report that arrives late does not hide a write that its step could not see', async (t) => {
  const { index, events } = followedIndex(t)
  const startedAt = monotonicTime()
  index.wrote('one', 0, 100, 1)
  events.onProgress({ progress: { ...COMPLETE, indexed: 0 }, startedAt })
  assert.equal(index.behind, 1)
})

test('a follower that gave way to other threads leaves an index to make anew to another one', (t) => {
  const { index, events, started, closed } = followedIndex(t)
  const step = (progress: IndexProgress) => events.onProgress({ progress, startedAt: monotonicTime() })
  const making = { ...COMPLETE, unscanned: 900, share: 0.1, isDone: false, rebuilt: 'it was removed' }
  assert.ok(Number.isNaN(index.behind))
  step(making)
  assert.deepEqual([started.length, closed(), index.behind], [1, 0, 900])
  step(COMPLETE)
  assert.equal(index.behind, 0)
  step(making)
  assert.deepEqual([started.length, closed(), index.behind], [2, 1, 900])
  // The one that ends says nothing any more.
  events.onEnd(new Error('closed'), 0)
  step(COMPLETE)
  assert.deepEqual([started.length, index.behind], [2, 900])
})
