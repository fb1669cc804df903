import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matches, PLANT_ORDERS, words } from '../../src/domain/plant-query.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { search } from '../../src/postgres/read/search.ts'
import { SearchStatistics } from '../../src/postgres/read/search-statistics.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { cleanUp } from '../support/clean-up.ts'
import { expectedPlants } from '../support/expected.ts'
import { openNew } from '../support/open-postgres.ts'
import { importAll } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'

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
  const pool = new Pool({ address: readPostgresAddress(url, {}), max: 1, timeout: 60_000, onTrouble: () => {} })
  cleanUp(t, () => pool.close())
  for (const text of ['rosa', 'vera', 'rosa vera', 'poa', 'aloe', 'fern', 'a'.repeat(64), 'a'.repeat(66)]) {
    const entries = words(text).map((word) => word.slice(0, 64))
    const lists = [entries, entries.map((entry) => `<${entry}`)]
    // A search expects to find the first page by a walk, or by the index.
    for (const statistics of lists.flatMap((list) => [believing(list, 0.5), believing(list, 0.0001)])) {
      for (const order of PLANT_ORDERS) {
        const wanted = { tags: [], words: words(text), order, after: undefined }
        const found = await new PoolShare(pool, 1).with((run) => search(run, wanted, 1000, statistics))
        const right = found.filter((one) => matches(wanted, one))
        assert.deepEqual(right, expectedPlants(plants, wanted, 1000), JSON.stringify([text, order]))
      }
    }
  }
})
