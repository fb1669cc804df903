import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isByName, matches, PLANT_ORDERS, words } from '../../src/domain/plant-query.ts'
import type { Run } from '../../src/postgres/pool/client.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { search } from '../../src/postgres/read/search.ts'
import { SearchStatistics, StatisticsCache } from '../../src/postgres/read/search-statistics.ts'
import { listTags } from '../../src/postgres/read/tags.ts'
import { expectedPlants } from '../support/expected.ts'
import { openNew, openStore, shareOf } from '../support/open-postgres.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { exportPlanOf, type Plan, parts, plansOf, plantsRead, poolOf } from '../support/search-plans.ts'
import { importAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { TAGGINGS, taggedPlants } from '../support/tagged-plants.ts'

const PAGE = 100
/** The most of the hundred thousand plants that a page reads: a walk in the order of ids, through one plant in a hundred. */
const MOST = 20_000

async function filled(t: TestContext): Promise<string> {
  const url = await newDatabase(t)
  await importAll(await openStore(t, url), taggedPlants())
  await query(url, 'VACUUM (ANALYZE) plants')
  return url
}

const nodesOf = (plans: readonly Plan[], pattern: RegExp): Plan[] =>
  plans.flatMap(parts).filter((part) => pattern.test(part['Node Type']))

test('a list, a search and an export by the start of a tag or by none read an index, and few other plants', async (t) => {
  const url = await filled(t)
  const pool = poolOf(t, url)
  for (const { filter, matching } of TAGGINGS) {
    for (const order of PLANT_ORDERS) {
      for (const after of [undefined, { key: isByName(order) ? 'name5' : '', id: 50_000n }]) {
        const label = JSON.stringify([filter, order, after?.key])
        const plans = await plansOf(pool, { ...filter, order, after })
        assert.deepEqual(nodesOf(plans, /^Seq Scan$/), [], label)
        const scans = plans.flatMap(parts).filter((part) => part['Relation Name'] === 'plants')
        const read = plantsRead(plans)
        if (filter.untagged === true && filter.words.length === 0) {
          const index = isByName(order) ? 'plants_without_tag_by_name' : 'plants_without_tag'
          assert.deepEqual(new Set(scans.map((scan) => scan['Index Name'])), new Set([index]), label)
          assert.equal(read, PAGE, label)
        }
        assert.ok(read <= MOST, `${label}: ${read} plants`)
        // What is sorted is the page, or all plants that the index has of the filter.
        for (const sort of nodesOf(plans, /Sort$/)) {
          assert.ok((sort.Plans?.[0]?.['Actual Rows'] ?? 0) <= Math.min(matching, MOST), `${label}: it sorts more`)
        }
      }
      const plan = await exportPlanOf(pool, filter, order)
      const label = `export ${JSON.stringify([filter, order])}`
      // One of most plants may well read them all.
      if (matching < 50_000) assert.deepEqual(nodesOf([plan], /^Seq Scan$/), [], label)
      if (filter.untagged === true && filter.words.length === 0 && !isByName(order)) {
        assert.equal(plan['Index Name'], 'plants_without_tag', label)
      }
    }
  }
})

test('a search for frequent words that no plant has together looks at the first plants and at indexes alone', async (t) => {
  const url = await newDatabase(t)
  const word = (i: number) => (i % 2 === 0 ? 'alba' : 'nigra')
  const plants = Array.from({ length: 20_000 }, (_, i) => plant(BigInt(i), `name${(i * 7919) % 20_000} ${word(i)}`))
  await importAll(await openStore(t, url), plants)
  await query(url, 'VACUUM (ANALYZE) plants')
  const pool = poolOf(t, url)
  // With so many plants a walk through all of them costs less than to read the quarter that would have both.
  const million = new SearchStatistics([['1000000', 'words', '["alba","nigra"]', '[0.5,0.5]']])
  for (const order of PLANT_ORDERS) {
    const wanted = { tags: [], words: ['alba', 'nigra'], order, after: undefined }
    const read = plantsRead(await plansOf(pool, wanted, million))
    assert.ok(read < 6000, `${order}: ${read} plants`)
  }
})

test('tags with a word that most names have are found without a look at the plants, and those with a rare word by them', async (t) => {
  const url = await newDatabase(t)
  const many = Array.from({ length: 25_000 }, (_, i) => plant(BigInt(i), `alba ${i}`, `acc/${i}`))
  await importAll(await openStore(t, url), [...many, plant(-1n, 'alba', 'zz rosa')])
  await query(url, 'VACUUM (ANALYZE) plants')
  const searches = new PoolShare(poolOf(t, url), 1)
  const readOfPlants = async (word: string) => {
    const texts: string[] = []
    const tags = await searches.with((run) => {
      const noting: Run = (statement) => {
        texts.push(statement.text)
        return run(statement)
      }
      return listTags(noting, { words: [word] }, 100, new StatisticsCache())
    })
    return { tags, reads: texts.filter((text) => /FROM plants\b/.test(text)).length }
  }
  assert.deepEqual(await readOfPlants('alba'), { tags: [], reads: 0 })
  assert.deepEqual(await readOfPlants('rosa'), { tags: [{ tag: 'zz rosa', plants: 1 }], reads: 1 })
})

/** Statistics of a store of a billion plants, of which this share has each of the entries. */
const believing = (entries: readonly string[], share: number): SearchStatistics =>
  new SearchStatistics([['1000000000', 'words', JSON.stringify(entries), JSON.stringify(entries.map(() => share))]])

test('a search for a frequent word finds the longer words, whatever follows in them', async (t) => {
  const { url, store } = await openNew(t)
  const endings = ['', 'e', '9', 'я', '龍1', '\u{20000}', 'eя', 'ⅷ', ' e', '🌵']
  const ends = [...endings, ...endings.map((ending) => `${ending} vera`), ...endings.map((ending) => ` vera${ending}`)]
  // The first plants of every order, which a search looks at first, have none of the words.
  const others = (start: string) => Array.from({ length: 2100 }, (_, i) => `${start} ${i}`)
  const names = [
    ...others('9'),
    ...ends.flatMap((end) => [`rosa${end}`, `vera rosa${end}`, `яrosa${end}`]),
    // More longer words, and more plants with one, than a search asks for one by one.
    ...Array.from({ length: 30 }, (_, i) => `poa${String.fromCharCode(97 + (i % 26))}${i}`),
    ...Array.from({ length: 600 }, (_, i) => `aloe${i % 2 === 0 ? 'ся' : 'r'} ${i}`),
    'aloex',
    // More names that begin with a longer word than a search looks at, and one plant with another in a later place.
    ...Array.from({ length: 600 }, (_, i) => `fernя ${i}`),
    'vera fernx',
    'vera fern',
    'poa',
    'aloe',
    `${'a'.repeat(70)}я`,
    ...others('\u{20000}'),
  ]
  const tagOf = (i: number) => (i > 2100 && i < 2400 && i % 3 === 0 ? `rosa${ends[i % ends.length]}` : undefined)
  const plants = names.map((name, i) => plant(BigInt(i), name, tagOf(i)))
  await importAll(store, plants)
  const share = shareOf(t, url, { max: 1, timeout: 60_000 })
  for (const text of ['rosa', 'vera', 'rosa vera', 'poa', 'aloe', 'fern', 'a'.repeat(64), 'a'.repeat(66)]) {
    const entries = words(text).map((word) => word.slice(0, 64))
    const lists = [entries, entries.map((entry) => `<${entry}`)]
    // A search expects to find the first page by a walk, or by the index.
    for (const statistics of lists.flatMap((list) => [believing(list, 0.5), believing(list, 0.0001)])) {
      for (const order of PLANT_ORDERS) {
        const wanted = { tags: [], words: words(text), order, after: undefined }
        const found = await share.with((run) => search(run, wanted, 1000, statistics))
        const right = found.filter((one) => matches(wanted, one))
        assert.deepEqual(right, expectedPlants(plants, wanted, 1000), JSON.stringify([text, order]))
      }
    }
  }
})
