import assert from 'node:assert/strict'
import { test } from 'node:test'
import { epithet, genus, plantOf, tag } from '../../bench/collection.ts'
import { FOUND, grownPlant, pagesOf } from '../../bench/grown.ts'
import { isByName, PLANT_ORDERS, type PlantQuery, positionOf, words } from '../../src/domain/plant-query.ts'
import type { Statement, TextRow } from '../../src/postgres/pool/client.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { search } from '../../src/postgres/read/search.ts'
import { SearchStatistics } from '../../src/postgres/read/search-statistics.ts'
import { TESTER } from '../support/actor.ts'
import { expectedPlants } from '../support/expected.ts'
import { openNew, openStore } from '../support/open-postgres.ts'
import { plantsOf, query } from '../support/postgres.ts'
import { ownServer } from '../support/postgres-faults.ts'
import { parts, plansOf, plantsRead, poolOf, rowsOf, searchBuffers } from '../support/search-plans.ts'
import { importAll, importMany } from '../support/store-calls.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'

const COUNT = 30_000

test('every search reads few more plants than its page needs', async (t) => {
  const { url, store } = await openNew(t)
  await importMany(store, 50_000, (i) => plantOf(1 + i))
  const wordOf = (text: string) => words(text)[0] ?? assert.fail(text)
  const [frequent, other, rare, often] = [wordOf(genus(0)), wordOf(genus(1)), wordOf(genus(3000)), wordOf(epithet(0))]
  const middle = wordOf(epithet(14))
  const pairs = [`${frequent} ${often}`, `${rare} ${often}`, `${frequent} ${other}`]
  const texts = ['', frequent, middle, ...pairs, 'zzzz yyyy', 'a b c']
  const tagLists = [[], [tag(0)], [tag(700)], [tag(0), tag(700), 'none']]
  for (const statistics of [
    // Directly after an import.
    'ALTER TABLE plants SET (autovacuum_enabled = off)',
    'VACUUM (ANALYZE) plants',
    "DELETE FROM pg_statistic WHERE starelid = 'plants'::regclass",
  ]) {
    await query(url, statistics)
    const pool = poolOf(t, url)
    for (const [i, text] of texts.entries()) {
      for (const [j, tags] of tagLists.entries()) {
        for (const order of PLANT_ORDERS.filter((_, k) => (i + j + k) % 2 === 0)) {
          const after = tags.length === 1 ? { key: 'm', id: 25_000n } : undefined
          const wanted = { tags, words: words(text), order, after }
          const label = JSON.stringify([statistics, text, tags, order])
          const read = plantsRead(await plansOf(pool, wanted))
          // Statistics that are missing or wrong mislead a search for a while.
          assert.ok(read <= (statistics.startsWith('VACUUM') ? 8000 : 24_000), `${label}: ${read} plants`)
        }
      }
    }
  }
})

test('a search that finds the same plants reads as many pages of a large store as of a small one', async (t) => {
  const [small = {}, large = {}] = await Promise.all(
    [5000, 50_000].map(async (size) => {
      const { url, store } = await openNew(t)
      await importMany(store, size, (i) => grownPlant(1 + i, size))
      await query(url, 'VACUUM (ANALYZE)')
      return searchBuffers(url, pagesOf(size), FOUND)
    }),
  )
  for (const [name, pages] of Object.entries(large)) {
    assert.ok(
      pages <= 2 * Math.max(FOUND, small[name] ?? 0),
      `${name}: ${small[name]} pages, and ${pages} of ten times as many plants`,
    )
  }
})

test('a search for a word of the last names reads its plants, not all names before them, also without statistics', async (t) => {
  const { url, store } = await openNew(t)
  await query(url, 'ALTER TABLE plants SET (autovacuum_enabled = off)')
  await importMany(store, 40_000, (i) => plant(BigInt(i), i % 6 === 0 ? `Zea serotina ${i}` : `Abies ${i}`))
  const pool = poolOf(t, url)
  for (const statistics of ['SELECT 1', 'VACUUM (ANALYZE) plants']) {
    await query(url, statistics)
    for (const text of ['serotina', 'serotina zea']) {
      const wanted = { tags: [], words: words(text), order: 'name', after: undefined } as const
      const read = plantsRead(await plansOf(pool, wanted))
      assert.ok(read <= 10_000, `${statistics}, ${text}: ${read} plants`)
    }
  }
})

test('a search with frequent, rare or no words equals filtering and sorting all plants', async (t) => {
  const { store } = await openNew(t)
  // So many plants that the first bounds of a search are too small, and it has to extend them.
  const plants = Array.from({ length: 30_000 }, (_, i) =>
    plant(BigInt(i), i < 25_000 ? `common ${i % 7 === 0 ? 'half ' : ''}x${i}` : `other common${i % 2}`, `tag ${i % 2}`),
  )
  await importAll(store, plants)
  const texts = 'common, comm half, half, other, x2999, common other, co common commo, tag common x1, none'.split(', ')
  for (const [i, text] of texts.entries()) {
    for (const [j, tags] of [[], ['tag 1'], ['tag 0', 'tag 1', 'tag 2']].entries()) {
      for (const order of PLANT_ORDERS.filter((_, k) => (i + j + k) % 2 === 0)) {
        const wanted = { tags, words: words(text), order, after: undefined }
        const label = JSON.stringify([text, tags, order])
        const first = await store.listPlants(wanted, 50)
        assert.deepEqual(first, expectedPlants(plants, wanted, 50), label)
        const last = first.at(-1)
        if (last === undefined) continue
        const next = { ...wanted, after: positionOf(order, last) }
        assert.deepEqual(await store.listPlants(next, 50), expectedPlants(plants, next, 50), label)
      }
    }
  }
})

test('a search gives the same whatever the statistics of the server say', async (t) => {
  const { url, store } = await openNew(t)
  // More than the least bound of a set has each word, tag and beginning of a name. Some names begin with a longer word.
  const first = (i: number) => (i >= 9_000 ? 'fern' : i % 9 === 0 ? 'aloes' : 'aloe')
  const plants = Array.from({ length: 18_000 }, (_, i) =>
    plant(BigInt(i * 7919) % 18_000n, `${first(i)} ${i % 2 === 0 ? 'aloe' : 'vera'}`, `tag ${i % 3}`),
  )
  await importAll(store, plants)
  const rows = (plants: number, share: number): TextRow[] => [
    [String(plants), 'words', '["aloe","<aloe","<fern","vera"]', JSON.stringify(Array(4).fill(share))],
    [String(plants), 'tag', '["tag 1"]', JSON.stringify([share])],
  ]
  const believed = [[], rows(10, 0.9), rows(1e9, 1e-9), rows(1e9, 0.99)].map((each) => new SearchStatistics(each))
  const pool = poolOf(t, url)
  for (const text of ['aloe', 'aloe vera', 'fern vera', 'aloes fern', 'vera none']) {
    for (const tags of [[], ['tag 1'], ['tag 0', 'tag 2']]) {
      for (const order of ['id', '-name'] as const) {
        const after = { key: isByName(order) ? 'aloe b' : '', id: 12_000n }
        const wanted = { tags, words: words(text), order, after: tags.length === 1 ? after : undefined }
        const expected = expectedPlants(plants, wanted, 50)
        for (const [i, statistics] of believed.entries()) {
          const found = await new PoolShare(pool, 1).with((run) => search(run, wanted, 50, statistics))
          assert.deepEqual(found, expected, JSON.stringify([text, tags, order, i]))
        }
      }
    }
  }
})

test('a search by name that orders some plants of a word first finds the page, also when those plants go', async (t) => {
  const { url, store } = await openNew(t)
  const starts = ['7 up', 'Zea', 'zéa', 'x', 'Xenia', 'xé', 'ß', 'Élan', 'quercus', "'Zea'", '(Par', 'я zea', '٣ rose']
  const names = Array.from(
    { length: 1500 },
    (_, i) => `${starts[i % starts.length]} ${i % 50} serotina${i % starts.length < 9 ? ' pumila' : ''}`,
  )
  // A walk through the first or last names finds none of them.
  names.push(...Array.from({ length: 2200 }, (_, i) => `${i % 2 === 0 ? '!' : '龍'} ${i}`))
  const plants = names.map((name, i) => plant(BigInt((i * 7919) % names.length), name, `tag ${i % 2}`))
  await importAll(store, plants)
  const statistics = new SearchStatistics([['40000', 'words', '["pumila","serotina"]', '[0.9,0.9]']])
  const pool = poolOf(t, url)
  // Statements that read a part of the names, and statements after these.
  const counts = { narrow: 0, further: 0 }
  const find = async (wanted: PlantQuery, between = async () => {}) =>
    new PoolShare(pool, 1).with(async (run) => {
      let isLast = false
      const counted = async (statement: Statement) => {
        counts.further += isLast ? 1 : 0
        isLast = statement.values?.some((value) => String(value).startsWith("!('<")) === true
        counts.narrow += isLast ? 1 : 0
        if (isLast) await between()
        return run(statement)
      }
      return search(counted, wanted, 10, statistics)
    })
  for (const order of ['name', '-name'] as const) {
    for (const text of ['serotina', 'pumila', 'pumila zea']) {
      for (let after: PlantQuery['after'], page = 0; page < 4; page++) {
        const wanted: PlantQuery = { tags: [], words: words(text), order, after }
        const found = await find(wanted)
        assert.deepEqual(found, expectedPlants(plants, wanted, 10), JSON.stringify([order, text, page]))
        after = positionOf(order, found.at(-1) ?? assert.fail())
      }
    }
    const wanted: PlantQuery = { tags: [], words: ['pumila'], order, after: undefined }
    const gone = expectedPlants(plants, wanted, 100).map(({ id }) => id)
    const left = plants.filter(({ id }) => !gone.includes(id))
    const found = await find(wanted, async () => {
      await query(url, `DELETE FROM plants WHERE id IN (${gone})`)
    })
    assert.deepEqual(found, expectedPlants(left, wanted, 10), order)
    const rows = plants.filter(({ id }) => gone.includes(id))
    await importAll(store, rows)
  }
  // Only a page that has lost plants is read again.
  assert.deepEqual(counts, { narrow: 4, further: 2 })
})

test('the index takes in new words in the background, not in the writes', async (t) => {
  const server = await ownServer(t)
  const store = await openStore(t, server.url())
  // Each has a word of its own.
  await importMany(store, COUNT, (i) => plant(BigInt(i), `name${i}`, `tag ${i % 1000}`))
  await query(server.url(), 'CREATE EXTENSION pgstattuple')
  const pending = async (): Promise<number> => {
    const rows = await query<{ pending: string }>(
      server.url(),
      "SELECT pending_tuples AS pending FROM pgstatginindex('plants_by_word')",
    )
    return Number(rows[0]?.pending)
  }
  await until(async () => (await pending()) <= COUNT / 2, 'the index does not take the words in')
})

test('a search for a word reads little of plants with very many other words, and nothing of their texts', async (t) => {
  const { url, store } = await openNew(t)
  const wide = Array.from({ length: 18 }, (_, i) => {
    const many = Array.from({ length: 40_000 }, (_, word) => `w${(word * 18 + i).toString(36)}x`)
    return plant(BigInt(-i), many.join(' '))
  })
  for (const one of wide) await store.importPlants([one], 'add', TESTER)
  await importMany(store, 3000, (i) => plant(BigInt(1 + i), `fern ${i}`))
  const pool = poolOf(t, url)
  for (const statement of ['SELECT', 'ANALYZE']) {
    await query(url, statement)
    for (const text of ['fern', 'fern 2999', 'zzzz', 'w zzzz', 'v']) {
      for (const order of ['id', '-name'] as const) {
        const wanted = { tags: [], words: words(text), order, after: undefined }
        let length = 0
        const found = await new PoolShare(pool, 1).with((run) => {
          const counted: typeof run = async (asked) => {
            const outcome = await run(asked)
            length += JSON.stringify(outcome.rows).length
            return outcome
          }
          return search(counted, wanted, 50, new SearchStatistics())
        })
        assert.deepEqual(found, expectedPlants([...wide, ...(await plantsOf(url))], wanted, 50).slice(0, found.length))
        assert.ok(length < 100_000, `${text} ${order}: the database sent ${length} units`)
        const plans = (await plansOf(pool, wanted)).flatMap(parts)
        const blocks = plans.filter((part) => part['Relation Name'] === 'wide_words').map((part) => rowsOf(0, part))
        assert.ok(Math.max(...blocks) <= wide.length, `${text} ${order}: ${blocks} blocks`)
      }
    }
  }
})

test('an import of many plants leaves the table with statistics, and its index of names to be counted alone', async (t) => {
  const { url, store } = await openNew(t)
  // Which pages a vacuum finds visible to all depends on what else has a snapshot, so only the vacuums count.
  const state = async () => {
    const [row] = await query(
      url,
      `SELECT reltuples AS plants,
        (SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'plants') AS vacuums,
        (SELECT count(*) FROM pg_stats WHERE tablename = 'plants' AND most_common_elems IS NOT NULL) AS listed
        FROM pg_class WHERE oid = 'plants'::regclass`,
    )
    return row
  }
  const add = (first: number, count: number) =>
    importMany(store, count, (i) => plant(BigInt(first + i), `fern ${first + i}`))
  await query(url, 'ALTER TABLE plants SET (autovacuum_enabled = off)')
  await add(1, 9000)
  await store.afterImport()
  assert.deepEqual(await state(), { plants: -1, vacuums: '0', listed: '0' }, 'few plants')
  await add(9001, 3000)
  await store.afterImport()
  assert.deepEqual(await state(), { plants: 12_000, vacuums: '1', listed: '1' })
  await add(12_001, 2000)
  await store.afterImport()
  assert.deepEqual(await state(), { plants: 12_000, vacuums: '1', listed: '1' }, 'few plants since')
})
