import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantQuery, positionOf, words } from '../src/domain/plant-query.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { expectedPlants, expectedTags } from './support/expected.ts'
import { anyId, anyText } from './support/plants.ts'
import { holds } from './support/property.ts'
import { EVERYTHING, importAll, importMany, listAll } from './support/store-calls.ts'
import { plant, refusal, type Suite } from './support/store-under-test.ts'

const FIRST_PAGE: PlantQuery = { ...EVERYTHING, order: 'id', after: undefined }

const ids = (plants: readonly NewPlant[]) => plants.map(({ id }) => id)

/** The specification of Store for lists during writes. */
export function freshnessTests(suite: Suite): void {
  suite('the first list after an acknowledged write returns the plant as written', async ({ store }) => {
    const found = async (text: string) => ids(await listAll(store, { words: words(text), order: 'name' }))
    for (let i = 0; i < 30; i++) {
      await createPlant(store, plant(BigInt(i), `new ${i}`, 'old'), { mustBeNew: true })
      assert.ok((await found('new')).includes(BigInt(i)))
      await replacePlant(store, plant(BigInt(i), `changed ${i}`, 'other'), NO_EXPECTATION, TESTER)
      assert.deepEqual(await found('new'), [])
      assert.deepEqual(await listAll(store, { tags: ['old'] }), [])
      assert.equal(await store.countMatches({ tags: ['old'], words: [] }, 1), 0)
      const untagged = await store.countMatches({ tags: [], untagged: true, words: [] }, 1)
      await updatePlant(store, BigInt(i), { tag: null }, NO_EXPECTATION, TESTER)
      assert.equal(await store.countMatches({ tags: [], untagged: true, words: [] }, 1), untagged + 1)
      assert.deepEqual(await found('other'), [])
      assert.ok((await found('chan')).includes(BigInt(i)))
      if (i % 2 === 0) await deletePlant(store, BigInt(i), NO_EXPECTATION, TESTER)
      assert.equal((await found('chan')).includes(BigInt(i)), i % 2 === 1)
    }
  })

  suite('repeated reads by id and by page return the present plants', async ({ store }) => {
    const read = async () => [await store.getPlant(1n), ...(await store.listPlants(FIRST_PAGE, 10))]
    for (let i = 0; i < 30; i++) {
      const [one, other] = [plant(1n, `version ${i}`), plant(2n, 'another', String(i))]
      await replacePlant(store, one, NO_EXPECTATION, TESTER)
      assert.deepEqual((await read())[0], one)
      await store.importPlants([other], 'update', TESTER)
      assert.deepEqual(await read(), [one, one, other])
      await createPlant(store, plant(3n), { mustBeNew: true })
      assert.deepEqual(await read(), [one, one, other, plant(3n)])
      await deletePlant(store, 3n, NO_EXPECTATION, TESTER)
      assert.deepEqual(await read(), [one, one, other])
    }
    await deletePlant(store, 1n, NO_EXPECTATION, TESTER)
    assert.deepEqual(await read(), [undefined, plant(2n, 'another', '29')])
  })

  suite('a list returns all plants right after a large import', async ({ store }) => {
    for (let round = 0; round < 2; round++) {
      const some = Array.from({ length: 4000 }, (_, i) =>
        plant(BigInt(round * 4000 + i), `plant ${i}`, `round ${round}`),
      )
      await importAll(store, some)
      assert.deepEqual(await listAll(store, { tags: [`round ${round}`], words: ['plant'] }), some)
      for (const filter of [EVERYTHING, { tags: [], tagPrefix: 'round', words: [] }, { tags: [], words: ['plant'] }]) {
        assert.equal(await store.countMatches(filter, 100_000), (round + 1) * 4000)
      }
    }
    assert.equal((await listAll(store, { order: 'name' })).length, 8000)
  })

  suite('paging returns each lasting plant exactly once while others are created and deleted', async ({ store }) => {
    const staying = Array.from({ length: 300 }, (_, i) => plant(BigInt(i * 2), `stay ${i % 37}`, 'stay'))
    await importAll(store, staying)
    let isOver = false
    const write = async (client: number) => {
      for (let i = 0; !isOver; i++) {
        const id = BigInt(((i * 97 + client * 31) % 600) | 1)
        await replacePlant(store, plant(id, `passing stay ${i % 50}`, 'stay'), NO_EXPECTATION, TESTER)
        if (i % 3 !== 0) await deletePlant(store, id, NO_EXPECTATION, TESTER).catch(refusal(40402))
      }
    }
    const writing = [0, 1, 2].map(write)
    try {
      for (const order of PLANT_ORDERS) {
        for (const filter of [EVERYTHING, { tags: ['stay'], words: [] }, { tags: [], words: ['sta'] }]) {
          const seen = (await listAll(store, { ...filter, order }, 50)).filter(({ id }) => id % 2n === 0n)
          assert.deepEqual(seen, expectedPlants(staying, { ...EVERYTHING, order, after: undefined }, 1000))
        }
      }
    } finally {
      isOver = true
      await Promise.all(writing)
    }
  })

  suite('a list never misses a plant that changes constantly', async ({ store }) => {
    await importMany(store, 500, (i) => plant(BigInt(i), `some ${i}`, 'some'))
    let isOver = false
    const writing = (async () => {
      for (let i = 0; !isOver; i++)
        await replacePlant(store, plant(250n, `some changing ${i}`, 'some'), NO_EXPECTATION, TESTER)
    })()
    try {
      for (let i = 0; i < 32; i++) {
        const filter = i % 2 === 0 ? { words: ['some'], tags: [] } : { words: [], tags: ['some'] }
        // One page, because by name a plant may move between pages while they are read.
        const page = await store.listPlants({ ...filter, order: PLANT_ORDERS[i % 4] ?? 'id', after: undefined }, 1000)
        assert.equal(page.length, 500)
        assert.equal(await store.countMatches(filter, 1000), 500)
      }
    } finally {
      isOver = true
      await writing
    }
  })
}

export function propertyTests(suite: Suite): void {
  // Few pieces, so that words, tags and names coincide, and sometimes any text.
  const piece = fc.constantFrom(
    'a',
    'A',
    'á',
    'ab',
    'B',
    'ß',
    'ss',
    '1',
    '🌵',
    'abcdefgh',
    'abcdefghi',
    'ABCDEFGHJ',
    'ﬁ',
    'Σ',
    'ς',
    '×',
    '"',
    '*',
    '-',
    '%',
  )
  const text = fc.oneof(
    { weight: 3, arbitrary: fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(' ')) },
    { weight: 1, arbitrary: fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')) },
    { weight: 1, arbitrary: anyText },
  )
  const query = fc.record({
    tags: fc.array(text, { maxLength: 3 }),
    words: fc.oneof(fc.constant(''), text, text).map(words),
    order: fc.constantFrom(...PLANT_ORDERS),
  })

  suite('every list equals filtering and sorting all plants', async ({ store }) => {
    const plants = new Map<bigint, NewPlant>()
    const id = fc.oneof(fc.bigInt(0n, 60n), anyId)
    const some = fc.array(fc.record({ id, name: text, tag: fc.option(text, { nil: undefined }) }), { maxLength: 12 })
    const property = fc.asyncProperty(
      some,
      fc.array(fc.tuple(query, fc.integer({ min: 1, max: 9 })), { minLength: 1, maxLength: 4 }),
      id,
      async (written, asked, gone) => {
        await store.importPlants(written, 'update', TESTER)
        for (const one of written) plants.set(one.id, { id: one.id, name: one.name, tag: one.tag })
        if (plants.delete(gone)) await deletePlant(store, gone, NO_EXPECTATION, TESTER)
        for (const [filter, limit] of asked) {
          let whole: PlantQuery = { ...filter, order: filter.order, after: undefined }
          for (let page = 0; page < 3; page++) {
            const answer = await store.listPlants(whole, limit)
            assert.deepEqual(answer, expectedPlants(plants.values(), whole, limit))
            const last = answer.at(-1)
            if (last === undefined) break
            whole = { ...whole, after: positionOf(whole.order, last) }
          }
        }
        assert.deepEqual(await store.listTags({}, 1000), expectedTags(plants.values()))
      },
    )
    await holds(property, { numRuns: 60 })
  })
}
