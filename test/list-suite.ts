import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MAX_ID, MAX_NAME, MIN_ID, type NewPlant, NO_EXPECTATION } from '../src/domain/plant.ts'
import { filterOf, PLANT_ORDERS, plantWords, positionOf, words } from '../src/domain/plant-query.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { expectedPlants } from './support/expected.ts'
import { anyText } from './support/plants.ts'
import { holds } from './support/property.ts'
import { EVERYTHING, exportAll, importAll, listAll } from './support/store-calls.ts'
import { plant, type Suite } from './support/store-under-test.ts'
import { modelMatches, TRICKY } from './support/word-model.ts'

const PLANTS = [
  plant(MIN_ID, 'Zamioculcas', 'houseplant'),
  plant(-7n, 'crème de menthe', 'herb'),
  plant(0n, 'Ångström aloe', ''),
  plant(1n, 'Monstera deliciosa', 'houseplant'),
  plant(2n, 'monstera adansonii', 'Houseplant'),
  plant(3n, 'Aloe vera'),
  plant(4n, 'aloe vera', 'succulent'),
  plant(MAX_ID, '🌵', 'succulent, rare'),
]
const ids = (plants: readonly NewPlant[]) => plants.map(({ id }) => id)

/** The specification of Store for lists of plants. */
export function listTests(suite: Suite): void {
  orderTests(suite)
  filterTests(suite)
}

function orderTests(suite: Suite): void {
  suite('a list is ordered by id or by folded name, ascending or descending', async ({ store }) => {
    assert.deepEqual(await listAll(store), [])
    await importAll(store, PLANTS.toReversed())
    const byName = [3n, 4n, 0n, -7n, 2n, 1n, MIN_ID, MAX_ID]
    assert.deepEqual(await listAll(store, { order: 'id' }), PLANTS)
    assert.deepEqual(await listAll(store, { order: '-id' }), PLANTS.toReversed())
    assert.deepEqual(ids(await listAll(store, { order: 'name' })), byName)
    assert.deepEqual(ids(await listAll(store, { order: '-name' })), byName.toReversed())
  })

  suite('pages of any size together have each plant once', async ({ store }) => {
    // Some names are equal, others have equal sort keys.
    const alike = Array.from({ length: 40 }, (_, i) => plant(BigInt(i), `${'Á'.repeat(130 + (i % 2))}${i % 7}`))
    await importAll(store, [...PLANTS.filter(({ id }) => id < 0n || id > 40n), ...alike])
    for (const order of PLANT_ORDERS) {
      const whole = await listAll(store, { order })
      for (const limit of [1, 2, 7, 46]) assert.deepEqual(await listAll(store, { order }, limit), whole)
    }
  })

  suite('a list continues after a position even if the plant there has changed or is gone', async ({ store }) => {
    await importAll(store, PLANTS)
    for (const order of PLANT_ORDERS) {
      const whole = await listAll(store, { order })
      for (const [i, last] of whole.entries()) {
        const query = { ...EVERYTHING, order, after: positionOf(order, last) }
        assert.deepEqual(await store.listPlants(query, 100), whole.slice(i + 1))
        await deletePlant(store, last.id, NO_EXPECTATION, TESTER)
        assert.deepEqual(await store.listPlants(query, 100), whole.slice(i + 1))
        await createPlant(store, last, { mustBeNew: true })
      }
    }
  })

  suite('names beyond U+FFFF sort by code points', async ({ store }) => {
    const names = ['\ud7ff', '\ue000', '\ufa0e', '\u{10000}', '\u{10ffff}']
    const rows = names.map((name, i) => plant(BigInt(-i), name))
    await importAll(store, rows)
    const shown = (await listAll(store, { order: 'name' })).map(({ name }) => name)
    assert.deepEqual(shown, names)
  })
}

function filterTests(suite: Suite): void {
  const FILTERS: readonly (readonly [tags: string[], words: string, found: bigint[]])[] = [
    [['houseplant'], '', [MIN_ID, 1n]],
    [['houseplant', 'herb', 'herb', 'unknown'], '', [MIN_ID, -7n, 1n]],
    [[''], '', [0n]],
    [['house'], '', []],
    [[], 'aloe', [0n, 3n, 4n]],
    [[], 'VERA al', [3n, 4n]],
    [[], 'al al aloe', [0n, 3n, 4n]],
    [[], 'creme', [-7n]],
    [[], 'MENTHÉ', [-7n]],
    [[], 'angstrom', [0n]],
    [[], 'succ rare', [MAX_ID]],
    [[], 'houseplant', [MIN_ID, 1n, 2n]],
    [[], 'houseplants', []],
    [[], 'deliciosas', []],
    [[], 'zamioculcas', [MIN_ID]],
    [[], 'onstera', []],
    [[], '🌵', [MAX_ID]],
    [[], 'aloe"*-(:^+', [0n, 3n, 4n]],
    [['succulent'], 'aloe', [4n]],
    [['houseplant', 'Houseplant'], 'mon', [1n, 2n]],
    [['herb'], 'aloe', []],
    [[''], 'aloe', [0n]],
  ]
  suite('a filter matches exact tags, and prefixes of folded words', async ({ store }) => {
    await importAll(store, PLANTS)
    for (const [tags, text, found] of FILTERS) {
      const filter = { tags, words: words(text) }
      assert.deepEqual(ids(await listAll(store, filter)), found, JSON.stringify([tags, text]))
      for (const order of PLANT_ORDERS) {
        const query = { ...filter, order, after: undefined }
        assert.deepEqual(await store.listPlants(query, 2), expectedPlants(PLANTS, query, 2), `${tags} ${text} ${order}`)
      }
    }
  })

  suite('a search finds exactly the plants of the rule for words, whatever their characters', async ({ store }) => {
    const tricky = fc.string({ unit: fc.constantFrom(...TRICKY), maxLength: 12 })
    const text = fc.oneof(tricky, anyText)
    const texts = fc.array(fc.tuple(text, fc.option(text, { nil: undefined })), { minLength: 8, maxLength: 8 })
    const some = fc.array(
      fc.oneof(fc.constantFrom(...TRICKY), fc.string({ unit: fc.constantFrom(...TRICKY), maxLength: 3 })),
    )
    const property = fc.asyncProperty(texts, some, async (all, searched) => {
      const plants = all.map(([name, tag], i) => plant(BigInt(i), name, tag))
      await importAll(store, plants, 'update')
      for (const q of new Set([...searched, ...plants.map(({ name }) => name.slice(0, 500))])) {
        const filter = filterOf({ tag: [], q: q })
        const found = plants.filter((one) => modelMatches(q, one))
        const listed = filter === undefined ? [] : await listAll(store, filter)
        assert.deepEqual(ids(listed), ids(found), JSON.stringify(q))
        if (filter !== undefined) assert.deepEqual(ids(await exportAll(store, filter)), ids(found), JSON.stringify(q))
      }
    })
    await holds(property, { numRuns: 20 })
  })

  suite('a search tells long words apart even if they differ only near their ends', async ({ store }) => {
    const lengths = [6, 7, 8, 9, 18, 19, 20, 21, 40]
    for (const letter of ['a', '銀', '𐐨']) {
      const beginnings = lengths.map((length) => letter.repeat(length))
      const plants = beginnings.flatMap((beginning, i) => [
        plant(BigInt(i * 3), beginning),
        plant(BigInt(i * 3 + 1), `other ${beginning}b`),
        plant(BigInt(i * 3 + 2), 'other', `${beginning}c`),
      ])
      await importAll(store, plants, 'update')
      for (const word of beginnings.flatMap((beginning) => [beginning, `${beginning}b`, `${beginning}d`])) {
        for (const tags of [[], [`${beginnings[4]}c`]]) {
          const query = { tags, words: words(`ot ${word}`), order: 'id', after: undefined } as const
          assert.deepEqual(await listAll(store, query), expectedPlants(plants, query, 1000), word)
          const alone = { ...query, words: words(word) }
          assert.deepEqual(await listAll(store, alone), expectedPlants(plants, alone, 1000), word)
        }
      }
    }
  })

  suite('a filter takes hundreds of tags', async ({ store }) => {
    const many = Array.from({ length: 1400 }, (_, i) => plant(BigInt(i), `plant ${i % 10}`, `tag ${i % 700}`))
    await importAll(store, many)
    const tags = Array.from({ length: 400 }, (_, i) => `tag ${i}`)
    for (const order of PLANT_ORDERS) {
      for (const text of ['', 'pl 7']) {
        const query = { tags, words: words(text), order, after: undefined }
        assert.deepEqual(await listAll(store, query, 90), expectedPlants(many, query, 10_000))
      }
    }
  })

  suite('a filter takes thousands of words and tags, and tags of many words', async ({ store }) => {
    const many = Array.from({ length: 3000 }, (_, i) => `w${i}`)
    const [own, few] = [many.slice(0, 200), many.slice(0, 35)]
    const full = plant(101n, own.join(' '), few.join(' - '))
    const tagged = plant(102n, 'w1 w2 w3', few.join(' '))
    await importAll(store, [full, tagged, ...PLANTS])
    assert.deepEqual(await listAll(store, { words: own }), [full])
    assert.deepEqual(await listAll(store, { words: few }), [full, tagged])
    assert.deepEqual(await listAll(store, { words: own, tags: [full.tag ?? '', 'w1'] }), [full])
    assert.deepEqual(await listAll(store, { words: many, tags: many }), [])
  })

  suite('a search finds words of any length', async ({ store }) => {
    const long = plant(1n, 'x'.repeat(MAX_NAME))
    await importAll(store, [long, plant(3n, 'x'.repeat(MAX_NAME - 1))])
    assert.deepEqual(await listAll(store, { words: ['x'.repeat(MAX_NAME)] }), [long])
    assert.deepEqual(ids(await listAll(store, { words: ['x'.repeat(8)] })), [1n, 3n])
  })

  suite('a search finds a plant by twice as many folded characters as its texts may have', async ({ store }) => {
    // U+FDFA becomes 18 characters, of four words: 1,998 of the name, and 396 of the tag.
    const [name, tag] = ['\ufdfa'.repeat(111), '\ufdfa'.repeat(22)]
    const within = plant(1n, `${name}zy`, `${tag}yxwv`)
    const beyond = plant(2n, `${name}zzy omega`, `${tag}yyxwv omega`)
    const other = plant(3n, 'omega', 'alpha')
    await importAll(store, [within, beyond, other])
    const found = (q: string) => listAll(store, { words: words(q) })
    const last = words('\ufdfa').at(-1) ?? ''
    assert.deepEqual(await found('\ufdfa'), [within, beyond])
    assert.deepEqual(await found(`${last}zy`), [within])
    // Of a word at the bound, its beginning counts.
    assert.deepEqual(await found(`${last}zz`), [beyond])
    assert.deepEqual(await found(`${last}zzy`), [])
    assert.deepEqual(await found(`${last}yxwv`), [within])
    assert.deepEqual(await found(`${last}yyxw`), [beyond])
    assert.deepEqual(await found(`${last}yyxwv`), [])
    assert.deepEqual(await found('omega'), [other])
    assert.deepEqual(await exportAll(store, { tags: [], words: words('\ufdfa') }), [within, beyond])
  })

  suite('a search finds a full plant by each of its words, whatever its text was before', async ({ store }) => {
    const text = (letter: string, count = 120) =>
      Array.from({ length: count }, (_, i) => `${letter}${((i * 7919) % 60_466_176).toString(36)}`).join(' ')
    // Beyond U+FFFF, the order of code points is not that of JavaScript; one syllable of Hangul becomes three letters.
    const scripts = ['w', '\u{20000}', '\ufa0e']
    const texts = ['fern', 'fern w', 'zzzz', '0', 'ja mon', `${text('w', 20)} fern`]
    for (const letter of [...scripts, '한'])
      texts.push(letter, `${letter}1 ${letter}${(7919 * 11).toString(36)}`, `${letter}zzzz`)
    const assertFound = async (plants: readonly NewPlant[]) => {
      const all = plants.map((one) => ({ one, own: plantWords(one) }))
      for (const [i, searched] of texts.entries()) {
        const tags = i % 2 === 0 ? [] : ['full', 'herb']
        const asked = words(searched)
        const found = all
          .filter(({ one }) => tags.length === 0 || tags.includes(one.tag ?? ''))
          .filter(({ own }) => asked.every((word) => own.some((each) => each.startsWith(word))))
          .map(({ one }) => one)
        const order = PLANT_ORDERS[i % PLANT_ORDERS.length] ?? 'id'
        const query = { tags, words: asked, order, after: undefined }
        const expected = ids(expectedPlants(found, { ...query, words: [] }, 100))
        const label = JSON.stringify([searched.slice(0, 20), tags, order])
        assert.deepEqual(ids(await listAll(store, query, 2)), expected, label)
        assert.deepEqual(ids(await exportAll(store, query, order)), expected, label)
      }
    }
    const full = scripts.map((letter, i) => plant(BigInt(-i), text(letter), i % 2 === 0 ? 'full' : undefined))
    const mixed = plant(10n, `fern ${scripts.map((letter) => text(letter, 40)).join(' ')}`, 'full')
    const plants = [...full, mixed, ...PLANTS.filter(({ id }) => id > 0n)]
    await importAll(store, plants)
    await assertFound(plants)
    const replaced = [plant(0n, 'fern'), plant(-1n, text('w')), plant(1n, text('\ufa0e'), 'full')]
    for (const one of replaced) await replacePlant(store, one, NO_EXPECTATION, TESTER)
    await deletePlant(store, -2n, NO_EXPECTATION, TESTER)
    const imported = [plant(10n, 'w'), plant(2n, text('한'))]
    await importAll(store, imported, 'update')
    const created = plant(20n, text('w', 100), text('한', 25))
    await createPlant(store, created, { mustBeNew: true })
    const changed = [...replaced, ...imported, created]
    const others = plants.filter(({ id }) => id !== -2n && !changed.some((one) => one.id === id))
    await assertFound([...changed, ...others])
  })
}
