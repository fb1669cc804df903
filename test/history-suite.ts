import assert from 'node:assert/strict'
import type { ChangeEntry } from '../src/domain/changes.ts'
import { type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import { TESTER } from './support/actor.ts'
import {
  aloe,
  created,
  deleted,
  expectedNewest,
  FIRST,
  fern,
  known,
  logOf,
  moss,
  OTHER,
  readAll,
  readNewest,
  remove,
  replace,
  updated,
} from './support/change-entries.ts'
import { deletePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { EVERYTHING, exportAll, importAll, importMany } from './support/store-calls.ts'
import { plant, refusal, type Suite } from './support/store-under-test.ts'
import { settled } from './support/until.ts'

/** The specification of ChangeLog.history. */
export function historyTests(suite: Suite): void {
  suite('the history of a plant has its entries, newest first, also after it was deleted', async ({ store }) => {
    const others = Array.from({ length: 1200 }, (_, i) => plant(BigInt(i + 10)))
    await createPlant(store, aloe)
    await importAll(store, others)
    await replace(store, fern)
    await remove(store, 1n)
    await Promise.all([replace(store, moss), createPlant(store, plant(7n))])
    await updatePlant(store, 1n, { tag: 'wet' }, NO_EXPECTATION, OTHER)
    const wet = plant(1n, 'Moss', 'wet')
    const first = [updated(moss, wet, OTHER.id), created(moss), deleted(fern), updated(aloe, fern), created(aloe)]
    assert.deepEqual((await logOf(store).history(1n, undefined, 100)).map(known), first)
    await remove(store, 1n)
    const history = await logOf(store).history(1n, undefined, 100)
    assert.deepEqual(history.map(known), [deleted(wet), ...first])
    const all = await readAll(logOf(store))
    const expected = all.filter((one) => (one.plant ?? one.before)?.id === 1n)
    assert.deepEqual(history.toReversed(), expected)
    assert.deepEqual((await logOf(store).history(700n, undefined, 100)).map(known), [created(plant(700n))])
    assert.deepEqual(await logOf(store).history(2n, undefined, 100), [])
  })

  suite('pages of a history give every entry once', async ({ store }) => {
    await createPlant(store, aloe)
    for (let i = 0; i < 25; i++) await replace(store, plant(1n, `version ${i}`))
    const whole = await logOf(store).history(1n, undefined, 1000)
    assert.equal(whole.length, 26)
    for (const limit of [1, 7, 25, 26]) {
      const found: ChangeEntry[] = []
      for (;;) {
        const page = await logOf(store).history(1n, found.at(-1)?.position, limit)
        assert.ok(page.length <= limit)
        if (page.length === 0) break
        found.push(...page)
      }
      assert.deepEqual(found, whole)
    }
  })
  suite('pages of the history of an id that several plants had give every entry once', async ({ store }) => {
    for (let life = 0; life < 4; life++) {
      await createPlant(store, plant(1n, `life ${life}`))
      if (life % 2 === 0) await replace(store, plant(1n, `changed ${life}`))
      await remove(store, 1n)
    }
    const whole = await logOf(store).history(1n, undefined, 1000)
    assert.equal(whole.length, 10)
    for (const [i, { position }] of whole.entries()) {
      assert.deepEqual(await logOf(store).history(1n, position, 1000), whole.slice(i + 1))
    }
  })
}

/** The specification of ChangeLog.newest. */
export function newestTests(suite: Suite): void {
  suite('plants by their newest change are there once, stored or deleted now', async ({ store }) => {
    const log = logOf(store)
    assert.deepEqual(await log.newest({ of: 'deleted', tags: [], words: [], limit: 9, before: undefined }), {
      entries: [],
      next: undefined,
      since: undefined,
    })
    await importMany(store, 1000, (i) => plant(BigInt(i + 1), `Aloe ${i}`, i % 3 === 0 ? 'bed' : undefined))
    await replace(store, plant(700n, 'Rosa', 'bed'), OTHER)
    // Two changes of one plant in one import, and plants that are deleted, created again, and deleted again.
    await store.importPlants([plant(2000n, 'first'), plant(2000n, 'second'), plant(701n, 'Rosa')], 'update', OTHER)
    for (const id of [3n, 4n, 5n, 2000n]) await remove(store, id)
    await createPlant(store, plant(4n, 'again'))
    for (const id of [3n, 5n]) await replace(store, plant(id, 'back', 'bed'))
    await store.importPlants([plant(5n), plant(6n), plant(700n)], 'delete', OTHER)
    const all = await readAll(log)
    const { entries, since } = await log.newest({ of: 'deleted', tags: [], words: [], limit: 9, before: undefined })
    assert.deepEqual(entries.map(known).slice(-1), [deleted(plant(2000n, 'second'))])
    assert.equal(since, all[0]?.time)
    const filters = [{}, { tags: ['bed'] }, { tagPrefix: 'b' }, { untagged: true }, { words: ['ro'] }]
    for (const filter of filters) {
      for (const request of [
        { of: 'deleted', ...filter },
        { of: 'stored', ...filter },
      ] as const) {
        const expected = expectedNewest(all, request)
        assert.ok(expected.length > 0 || request.of === 'deleted', JSON.stringify(request))
        for (const limit of [99, 1000]) assert.deepEqual(await readNewest(log, { ...request, limit }), expected)
      }
    }
    assert.equal((await readNewest(log, { of: 'stored', limit: 1000 })).length, (await exportAll(store)).length)
  })

  suite('a page of the newest changes looks at a bounded number of entries, and leads on', async ({ store }) => {
    await importAll(store, [plant(1n, 'Rosa')])
    await remove(store, 1n)
    await importMany(store, 25_000, (i) => plant(BigInt(i + 2)))
    const request = { of: 'stored', tags: [], words: ['rosa'], limit: 9, before: undefined } as const
    const { entries, next } = await logOf(store).newest(request)
    assert.deepEqual(entries, [])
    assert.ok(next !== undefined)
    assert.deepEqual((await readNewest(logOf(store), { of: 'deleted' })).map(known), [deleted(plant(1n, 'Rosa'))])
    await assert.rejects(logOf(store).newest({ ...request, before: 'x' }), refusal(40003))
  })
}

/** The specification of following the log of changes, from an export on and beside writers. */
export function followTests(suite: Suite): void {
  suite('an export and the entries after its position make the plants of a later export', async ({ store }) => {
    const ids = Array.from({ length: 3000 }, (_, i) => BigInt(i))
    const rows = ids.map((id) => plant(id))
    await importAll(store, rows)
    const writing = new AbortController()
    const writer = async (seed: number) => {
      for (let i = 0; !writing.signal.aborted; i++) {
        const id = BigInt((i * 7919 + seed * 104729) % 4000)
        if (i % 3 === 0) await deletePlant(store, id, NO_EXPECTATION, TESTER).catch(refusal(40402))
        else await replace(store, plant(id, `${seed} ${i}`))
      }
    }
    const writers = [1, 2, 3, 4].map(writer)
    for (let round = 0; round < 5; round++) {
      let position: string | undefined
      const plants = new Map<bigint, NewPlant>()
      for await (const chunk of store.exportPlants(EVERYTHING, 'id', undefined, (at) => (position = at))) {
        assert.ok(position !== undefined, 'the position is known before the first chunk')
        for (const one of chunk) plants.set(one.id, one)
      }
      if (round === 4) writing.abort()
      if (round === 4) await Promise.all(writers)
      for (const { type, plant, before } of await readAll(logOf(store), { after: position })) {
        const id = (plant ?? before)?.id ?? assert.fail('an entry without a plant')
        assert.deepEqual(plants.get(id), before, `the ${type} of ${id} follows`)
        if (plant === undefined) plants.delete(id)
        else plants.set(id, plant)
      }
      if (round < 4) continue
      const shown = [...plants.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
      assert.deepEqual(shown, await exportAll(store))
    }
  })

  suite('a reader beside writers gets every change once, in the order of each plant', async ({ store }) => {
    const log = logOf(store)
    const start = await log.end()
    let isOver = false
    const seen: ChangeEntry[] = []
    const reader = async () => {
      for (let after = start; ; ) {
        const wasOver = isOver
        const { entries, next, isEnd } = await log.read({ ...FIRST, after, limit: 100 })
        seen.push(...entries)
        after = next
        if (isEnd && wasOver) return
      }
    }
    const reading = reader()
    let changes = 0
    const writer = async (number: number) => {
      for (let i = 0; i < 100; i++) {
        const id = BigInt((i * number) % 20)
        if (i % 10 === 9) {
          const rows = [plant(id, `import ${number} ${i}`), plant(id + 1n, `import ${number} ${i}`)]
          const results = await store.importPlants(rows, 'update', TESTER)
          changes += results.filter((result) => result !== 'unchanged').length
        } else {
          await replace(store, plant(id, `${number} ${i}`))
          changes++
        }
      }
    }
    await Promise.all(Array.from({ length: 10 }, (_, i) => writer(i + 1)))
    isOver = true
    await settled(reading, 'the reader does not reach the end')
    assert.equal(seen.length, changes)
    assert.equal(new Set(seen.map(({ position }) => position)).size, changes)
    const present = new Map<bigint, NewPlant>()
    for (const { plant, before } of seen) {
      const id = plant?.id ?? 0n
      assert.deepEqual(present.get(id), before)
      if (plant !== undefined) present.set(id, plant)
    }
    for (const one of present.values()) assert.deepEqual(await store.getPlant(one.id), one)
  })
}
