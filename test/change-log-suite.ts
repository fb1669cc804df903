import assert from 'node:assert/strict'
import type { ChangeRequest } from '../src/domain/changes.ts'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import { actionTests } from './action-suite.ts'
import { followTests, historyTests, newestTests } from './history-suite.ts'
import { TESTER } from './support/actor.ts'
import {
  aloe,
  created,
  deleted,
  FIRST,
  fern,
  known,
  logOf,
  moss,
  OTHER,
  readAll,
  remove,
  replace,
  updated,
} from './support/change-entries.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { importAll, importMany } from './support/store-calls.ts'
import { type OpenStore, plant, refusal, type Suite, suiteOf } from './support/store-under-test.ts'

/** The specification of ChangeLog (src/domain/changes.ts) as tests, for a store that keeps its log for long. */
export function changeLogSuite(name: string, open: OpenStore): void {
  const suite = suiteOf(name, open)
  entryTests(suite)
  pageTests(suite)
  positionTests(suite)
  historyTests(suite)
  newestTests(suite)
  followTests(suite)
  actionTests(suite)
}

const lenient = { mustBeNew: false }

function entryTests(suite: Suite): void {
  suite('each write that changes a plant has one entry, with the plant before and after it', async ({ store }) => {
    const start = Date.now()
    await createPlant(store, aloe)
    await replace(store, fern, OTHER)
    await updatePlant(store, 1n, { name: 'Moss', tag: null }, NO_EXPECTATION, TESTER)
    await store.importPlants([aloe, plant(2n, '', ''), plant(2n, 'twice')], 'update', OTHER)
    await remove(store, 1n)
    await replace(store, fern)
    await store.importPlants([plant(-3n, 'e\u0301🌵'), plant(2n, 'refused')], 'add', OTHER)
    const entries = await readAll(logOf(store))
    assert.deepEqual(entries.map(known), [
      created(aloe),
      updated(aloe, fern, OTHER.id),
      updated(fern, moss),
      updated(moss, aloe, OTHER.id),
      created(plant(2n, '', ''), OTHER.id),
      updated(plant(2n, '', ''), plant(2n, 'twice'), OTHER.id),
      deleted(aloe),
      created(fern),
      created(plant(-3n, 'e\u0301🌵'), OTHER.id),
    ])
    for (const { time } of entries) assert.ok(time >= start - 60_000 && time <= Date.now() + 60_000, String(time))
  })

  suite('a write that changes nothing has no entry', async ({ store }) => {
    await createPlant(store, aloe)
    const end = await logOf(store).end()
    await createPlant(store, aloe)
    await assert.rejects(createPlant(store, fern), refusal(40901))
    await replace(store, aloe)
    await updatePlant(store, 1n, { name: 'Aloe' }, NO_EXPECTATION, TESTER)
    await store.importPlants([aloe, fern], 'add', TESTER)
    await store.importPlants([aloe], 'update', TESTER)
    await assert.rejects(replacePlant(store, fern, { notAt: 'any' }, TESTER), refusal(41201))
    await assert.rejects(updatePlant(store, 1n, { name: 'x' }, { at: [] }, TESTER), refusal(41201))
    await assert.rejects(deletePlant(store, 1n, { at: [] }, TESTER), refusal(41201))
    await assert.rejects(remove(store, 2n), refusal(40402))
    const dryRun = await store.startDryRun('update')
    await dryRun.importPlants([fern, plant(5n)])
    await dryRun.close()
    assert.deepEqual(await readAll(logOf(store), { after: end }), [])
    assert.equal(await logOf(store).end(), end)
  })

  suite('concurrent creates of several tokens each have one entry with their token', async ({ store }) => {
    const plants = Array.from({ length: 300 }, (_, i) =>
      plant(BigInt(i), `plant ${i}`, i % 2 === 0 ? 'even' : undefined),
    )
    const actors = [TESTER, OTHER, { id: 'configured', name: 'x' }]
    await Promise.all(plants.map((one, i) => store.createPlant(one, lenient, actors[i % 3] ?? TESTER)))
    const entries = await readAll(logOf(store))
    const byId = entries.sort((a, b) => Number((a.plant?.id ?? 0n) - (b.plant?.id ?? 0n)))
    const expected = plants.map((one, i) => created(one, actors[i % 3]?.id))
    assert.deepEqual(byId.map(known), expected)
  })

  suite('the use of the log counts its entries, and names its oldest', async ({ store }) => {
    assert.equal((await logOf(store).usage()).entries, 0)
    assert.equal((await logOf(store).usage()).oldest, undefined)
    await importMany(store, 2500, (i) => plant(BigInt(i)))
    await remove(store, 1n)
    const { entries, bytes, oldest } = await logOf(store).usage()
    assert.equal(entries, 2501)
    assert.ok(bytes > 2501 * 8 && bytes < 2501 * 1000, `${bytes} bytes`)
    assert.equal(oldest, (await readAll(logOf(store)))[0]?.time)
  })
}

function pageTests(suite: Suite): void {
  const MANY = Array.from({ length: 2345 }, (_, i) => plant(BigInt(i * 7), `plant ${i}`, ['a', 'b', undefined][i % 3]))

  suite('pages of any limit give every entry once, in the same order', async ({ store }) => {
    await importAll(store, MANY)
    for (let i = 0; i < 20; i++) await replace(store, plant(BigInt(i * 7), 'changed', 'c'))
    const all = await readAll(logOf(store))
    assert.equal(all.length, MANY.length + 20)
    for (const limit of [1, 7, 100, 999]) {
      const request = { limit, after: limit === 1 ? all.at(-50)?.position : undefined }
      assert.deepEqual(await readAll(logOf(store), request), limit === 1 ? all.slice(-49) : all)
    }
    const page = await logOf(store).read({ ...FIRST, limit: 10 })
    assert.equal(page.entries.length, 10)
    assert.equal(page.next, page.entries.at(-1)?.position)
    assert.equal(page.isEnd, false)
  })

  suite('a read at the end is empty, and goes on with later entries', async ({ store }) => {
    const empty = await logOf(store).read(FIRST)
    assert.deepEqual([empty.entries, empty.isEnd, empty.next], [[], true, await logOf(store).end()])
    await createPlant(store, aloe)
    const first = await logOf(store).read({ ...FIRST, after: empty.next })
    assert.deepEqual(first.entries.map(known), [created(aloe)])
    assert.equal(first.isEnd, true)
    const nothing = await logOf(store).read({ ...FIRST, after: first.next })
    assert.deepEqual([nothing.entries, nothing.isEnd, nothing.next], [[], true, first.next])
    await replace(store, fern)
    assert.deepEqual((await readAll(logOf(store), { after: first.next })).map(known), [updated(aloe, fern)])
  })

  suite('a filter by tags selects entries whose plant has one of them before or after', async ({ store }) => {
    await store.importPlants([aloe, plant(2n, 'two', 'x'), plant(3n, 'three')], 'add', TESTER)
    await replace(store, plant(2n, 'two', 'succulent'))
    await replace(store, plant(2n, 'two', 'y'))
    await replace(store, plant(2n, 'two', 'z'))
    await remove(store, 1n)
    const select = (tags: string[]) => readAll(logOf(store), { tags })
    assert.deepEqual((await select(['succulent'])).map(known), [
      created(aloe),
      updated(plant(2n, 'two', 'x'), plant(2n, 'two', 'succulent')),
      updated(plant(2n, 'two', 'succulent'), plant(2n, 'two', 'y')),
      deleted(aloe),
    ])
    assert.equal((await select(['succulent', 'z', 'none'])).length, 5)
    assert.deepEqual(await select(['none', '']), [])
    const types = await readAll(logOf(store), { types: ['plant.deleted', 'plant.updated'] })
    const found = types.map(({ type }) => type)
    assert.deepEqual(found, ['plant.updated', 'plant.updated', 'plant.updated', 'plant.deleted'])
    const typesOf = async (more: Partial<ChangeRequest>) =>
      (await readAll(logOf(store), more)).map(({ type, plant, before }) => `${type} ${(plant ?? before)?.id}`)
    assert.deepEqual(await typesOf({ tagPrefix: 'succ', limit: 1 }), [
      ...['plant.created 1', 'plant.updated 2', 'plant.updated 2', 'plant.deleted 1'],
    ])
    assert.deepEqual(await typesOf({ tagPrefix: 'succ', types: ['plant.deleted'] }), ['plant.deleted 1'])
    assert.deepEqual(await typesOf({ tagPrefix: 'Succ' }), [])
    assert.deepEqual(await typesOf({ untagged: true }), ['plant.created 3'])
    await replace(store, plant(3n, 'three', 'a'))
    await replace(store, plant(2n, 'two'))
    assert.deepEqual(await typesOf({ untagged: true }), ['plant.created 3', 'plant.updated 3', 'plant.updated 2'])
  })

  suite('a filter that selects nothing moves on', async ({ store }) => {
    await importAll(store, MANY)
    for (const filter of [{ tags: ['none'] }, { tagPrefix: 'none' }]) {
      let { next, isEnd } = await logOf(store).read({ ...FIRST, limit: 10, ...filter })
      for (let reads = 0; !isEnd; reads++) {
        const page = await logOf(store).read({ ...FIRST, limit: 10, after: next, ...filter })
        assert.deepEqual(page.entries, [])
        assert.ok(page.next > next, 'a read that is not at the end moves on')
        assert.ok(reads < MANY.length, 'the reads do not end')
        next = page.next
        isEnd = page.isEnd
      }
      assert.equal(next, await logOf(store).end())
    }
  })

  suite('a read with an aborted signal rejects with its reason', async ({ store }) => {
    const reason = new Error('no longer wanted')
    await assert.rejects(logOf(store).read(FIRST, AbortSignal.abort(reason)), reason)
    await assert.rejects(logOf(store).history(1n, undefined, 10, AbortSignal.abort(reason)), reason)
  })
}

function positionTests(suite: Suite): void {
  suite('positions are opaque texts that grow, and are valid in the reopened store', async ({ store, reopen }) => {
    await importMany(store, 300, (i) => plant(BigInt(i)))
    const entries = await readAll(logOf(store))
    const positions = entries.map(({ position }) => position)
    for (const position of positions) assert.match(position, /^[A-Za-z0-9_-]{1,64}$/)
    assert.deepEqual(positions, [...new Set(positions)].sort())
    const again = await reopen()
    assert.deepEqual(await readAll(logOf(again)), entries)
    await remove(again, 5n)
    assert.deepEqual((await readAll(logOf(again), { after: positions.at(-1) })).map(known), [deleted(plant(5n))])
  })

  suite('a position with one character changed is refused', async ({ store }) => {
    await createPlant(store, aloe)
    const position = await logOf(store).end()
    const bad = ['', 'now', 'x'.repeat(64), `${position}0`, position.slice(1), position.toUpperCase().replace('0', 'O')]
    for (let i = 0; i < position.length; i++) {
      bad.push(`${position.slice(0, i)}${position[i] === '1' ? '2' : '1'}${position.slice(i + 1)}`)
    }
    for (const after of bad) {
      if (after === position) continue
      await assert.rejects(logOf(store).read({ ...FIRST, after }), refusal(40003), after)
      await assert.rejects(logOf(store).history(1n, after, 10), refusal(40003), after)
    }
  })

  suite('a position of another store is refused as of another history', async ({ store, open }) => {
    const { store: other } = await open()
    await createPlant(store, aloe)
    await createPlant(other, aloe)
    const after = await logOf(other).end()
    await assert.rejects(logOf(store).read({ ...FIRST, after }), refusal(41001))
    await assert.rejects(logOf(store).history(1n, after, 10), refusal(41001))
  })
}
