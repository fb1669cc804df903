import assert from 'node:assert/strict'
import { MAX_ID, MAX_NAME, MIN_ID, NO_EXPECTATION } from '../src/domain/plant.ts'
import { words } from '../src/domain/plant-query.ts'
import { hashSecret } from '../src/domain/token.ts'
import { changeTests } from './change-suite.ts'
import { exportEndTests, exportTests } from './export-suite.ts'
import { freshnessTests, propertyTests } from './freshness-suite.ts'
import { idTests } from './id-suite.ts'
import { importTests, wholeImportTests } from './import-suite.ts'
import { listTests } from './list-suite.ts'
import { abortTests, lookupTests } from './read-suite.ts'
import { TESTER } from './support/actor.ts'
import { deletePlant, replacePlant, updatePlant } from './support/change-plant.ts'
import { createPlant } from './support/create-plant.ts'
import { fullPlants } from './support/full-plants.ts'
import { EVERYTHING, exportAll, importAll, listAll, onceIndexed } from './support/store-calls.ts'
import { type OpenStore, openShared, plant, refusal, type Suite, suiteOf } from './support/store-under-test.ts'
import { longestTurn } from './support/turns.ts'
import { taggingTests, tagTests } from './tag-suite.ts'
import { token, tokenTests } from './token-suite.ts'
import { webhookTests } from './webhook-suite.ts'

/** The parts of the specification of Store (src/domain/store.ts) as tests, each for a file of its own. */
const PARTS = {
  writes: { shared: [createTests, lookupTests, concurrencyTests, changeTests], own: [closeTests] },
  lists: { shared: [listTests, freshnessTests, propertyTests, tagTests, taggingTests, abortTests], own: [] },
  files: { shared: [importTests, exportTests, webhookTests], own: [exportEndTests, tokenTests, idTests] },
} as const

/** Tests a part of the specification. In a sharded store, each shard commits its part of an import. */
export function storeSuite(part: keyof typeof PARTS, name: string, open: OpenStore, { isSharded = false } = {}): void {
  const onShared = suiteOf(name, openShared(open))
  const onOwn = suiteOf(name, open)
  for (const tests of PARTS[part].shared) tests(onShared)
  for (const tests of PARTS[part].own) tests(onOwn)
  if (part === 'files' && !isSharded) wholeImportTests(onShared)
}

const lenient = { mustBeNew: false }
const strict = { mustBeNew: true }

function createTests(suite: Suite): void {
  suite('a create stores the plant once, and reads return it unchanged', async ({ store, plants }) => {
    assert.equal(await createPlant(store, plant(1n, 'Monstera', 'houseplant')), 'created')
    assert.equal(await createPlant(store, plant(1n, 'Monstera', 'houseplant')), 'unchanged')
    assert.deepEqual(await plants(), [plant(1n, 'Monstera', 'houseplant')])
  })

  suite('a create with the id of another plant is a conflict and changes nothing', async ({ store, plants }) => {
    await createPlant(store, plant(1n, 'Monstera', 'houseplant'))
    for (const other of [plant(1n, 'monstera', 'houseplant'), plant(1n, 'Monstera', 'herb'), plant(1n, 'Monstera')]) {
      await assert.rejects(createPlant(store, other), refusal(40901))
    }
    assert.deepEqual(await plants(), [plant(1n, 'Monstera', 'houseplant')])
  })

  suite('a create that must be new is refused for a known id, even with an equal plant', async ({ store, plants }) => {
    assert.equal(await createPlant(store, plant(1n), strict), 'created')
    await assert.rejects(createPlant(store, plant(1n), strict), refusal(41201))
    await assert.rejects(createPlant(store, plant(1n, 'another'), strict), refusal(41201))
    assert.deepEqual(await plants(), [plant(1n)])
  })

  suite('an absent tag differs from an empty tag, and a name may be empty', async ({ store, plants }) => {
    await createPlant(store, plant(1n, '', undefined))
    await createPlant(store, plant(2n, '', ''))
    await assert.rejects(createPlant(store, plant(1n, '', '')), refusal(40901))
    await assert.rejects(createPlant(store, plant(2n, '', undefined)), refusal(40901))
    assert.deepEqual(await plants(), [plant(1n, '', undefined), plant(2n, '', '')])
  })

  suite('every int64 is an id of its own, even beyond the precision of a double', async ({ store, plants }) => {
    const edge = 2n ** 53n
    const ids = [MIN_ID, MIN_ID + 1n, -edge - 1n, -edge, -1n, 0n, 1n, edge, edge + 1n, MAX_ID - 1n, MAX_ID]
    for (const id of ids) assert.equal(await createPlant(store, plant(id), strict), 'created')
    assert.deepEqual(
      await plants(),
      ids.map((id) => plant(id)),
    )
    for (const id of ids) assert.equal(await createPlant(store, plant(id)), 'unchanged')
  })

  suite('texts are stored and compared bit by bit', async ({ store, reopen, plants }) => {
    const names = [
      ' leading and trailing ',
      '\u00e9',
      'e\u0301',
      '\ufeffBOM',
      'Ⅷ',
      '🌵👩‍🌾🏳️‍🌈',
      '\u{10ffff}',
      '\ufffe\uffff',
      'שלום',
      '\u202eabc',
      'a\r\nb\tc\u0001\u007f',
      "'; DROP TABLE plants; --",
      '\\x00 %s $1 ?',
      'İıſß',
      '12',
      'null',
    ]
    const all = names.map((name, i) => plant(BigInt(i), name, name))
    for (const one of all) await createPlant(store, one)
    await assert.rejects(createPlant(store, plant(1n, 'e\u0301', '\u00e9')), refusal(40901))
    await reopen()
    assert.deepEqual(await plants(), all)
  })

  suite('plants of the largest size are stored unchanged, whatever their characters', async ({ store, plants }) => {
    const full = ['🌵', '\u0001', '銀', 'ﷺ'].flatMap((unit, i) => fullPlants(1, { from: i, unit }))
    for (const one of full) {
      assert.equal(await createPlant(store, one), 'created')
      assert.equal(await createPlant(store, one), 'unchanged')
    }
    assert.deepEqual(await plants(), full)
  })
}

function concurrencyTests(suite: Suite): void {
  suite('of concurrent creates of different plants with one id exactly one succeeds', async ({ store, plants }) => {
    const rivals = Array.from({ length: 50 }, (_, i) => plant(7n, `rival ${i}`))
    const results = await Promise.allSettled(rivals.map((rival) => createPlant(store, rival)))
    const winners = rivals.filter((_, i) => results[i]?.status === 'fulfilled')
    assert.equal(winners.length, 1)
    assert.deepEqual(await plants(), winners)
    for (const result of results) if (result.status === 'rejected') refusal(40901)(result.reason)
  })

  suite('of concurrent creates of equal plants one creates, and others are unchanged', async ({ store, plants }) => {
    const results = await Promise.all(Array.from({ length: 50 }, () => createPlant(store, plant(7n))))
    assert.deepEqual(Map.groupBy(results, (result) => result).get('created')?.length, 1)
    assert.equal(results.filter((result) => result === 'unchanged').length, 49)
    assert.deepEqual(await plants(), [plant(7n)])
  })

  suite('of concurrent creates that must be new exactly one succeeds', async ({ store }) => {
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => createPlant(store, plant(7n), strict)))
    assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1)
    for (const result of results) if (result.status === 'rejected') refusal(41201)(result.reason)
  })

  suite('a refused create does not affect the other creates of its group', async ({ store, plants }) => {
    await createPlant(store, plant(5n, 'first'))
    const results = await Promise.allSettled([
      createPlant(store, plant(4n)),
      createPlant(store, plant(5n, 'second')),
      createPlant(store, plant(6n)),
      createPlant(store, plant(5n, 'first'), strict),
      createPlant(store, plant(7n)),
    ])
    const statuses = results.map(({ status }) => status)
    assert.deepEqual(statuses, ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
    assert.deepEqual(await plants(), [plant(4n), plant(5n, 'first'), plant(6n), plant(7n)])
  })

  suite('each create of a group gets its own result, even if some plants exist already', async ({ store, plants }) => {
    const many = 20n
    for (let place = 0n; place < many; place++) {
      const ids = Array.from({ length: Number(many) }, (_, i) => place * many + BigInt(i))
      const there = place * many + place
      await createPlant(store, plant(there))
      const results = await Promise.all(ids.map((id) => createPlant(store, plant(id))))
      const expected = ids.map((id) => (id === there ? 'unchanged' : 'created'))
      assert.deepEqual(results, expected)
    }
    const all = Array.from({ length: Number(many * many) }, (_, i) => plant(BigInt(i)))
    assert.deepEqual(await plants(), all)
  })

  suite('a create that the engine refuses does not affect the others of its group', async ({ store, plants }) => {
    const many = Array.from({ length: 30 }, (_, i) => plant(i === 12 ? 2n ** 63n : BigInt(i)))
    const results = await Promise.allSettled(many.map((one) => createPlant(store, one)))
    const shown = results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
    assert.deepEqual(shown, [12])
    const expected = many.filter((_, i) => i !== 12)
    assert.deepEqual(await plants(), expected)
  })

  suite('no work on a thousand plants that fold to many characters holds the event loop', async ({ store }) => {
    const [created, imported] = [fullPlants(250, { unit: '\ufdfa' }), fullPlants(1000, { unit: '\ufdfa', from: 1000 })]
    const filter = { tags: [], words: words('\ufdfa') }
    const works = {
      creates: () => Promise.all(created.map((one) => createPlant(store, one))),
      import: () => importAll(store, imported),
      searches: () => Promise.all((['id', 'name'] as const).map((order) => listAll(store, { ...filter, order }, 1000))),
      count: () => store.countMatches(filter, 1000),
      export: () => exportAll(store, filter),
    }
    for (const [what, work] of Object.entries(works)) {
      const longest = await longestTurn(onceIndexed<unknown>(work))
      assert.ok(longest < 50, `a round of the event loop takes ${longest.toFixed()} ms of ${what}`)
    }
  })

  suite('writes wait for no more than one commit of another actor', async ({ store }) => {
    const full = fullPlants(1500)
    const creates = (i: number) => store.createPlant(full[i] ?? assert.fail(), lenient, TESTER)
    const replaces = (i: number) => replacePlant(store, plant(BigInt(i), 'y'.repeat(MAX_NAME)), NO_EXPECTATION, TESTER)
    const updates = (i: number) => updatePlant(store, BigInt(i), { tag: 'z' }, NO_EXPECTATION, TESTER)
    const deletes = (i: number) => deletePlant(store, BigInt(i), NO_EXPECTATION, TESTER)
    const other = { ...TESTER, id: 'tok_other' }
    for (const write of [creates, replaces, updates, deletes]) {
      let written = 0
      const all = full.map((_, i) => onceIndexed<unknown>(() => write(i)).then(() => written++))
      const few = Array.from({ length: 5 }, (_, i) => {
        const one = plant(BigInt(5000 + i), write.name)
        if (write === creates) return store.createPlant(one, lenient, other)
        return replacePlant(store, one, NO_EXPECTATION, other)
      })
      await Promise.all(few)
      assert.ok(written <= 1000, `${written} ${write.name} came before`)
      await Promise.all(all)
    }
  })

  suite('creates beyond the queue are refused and not stored', async ({ open }) => {
    const { store, plants } = await open({ maxWaiting: 10 })
    const all = Array.from({ length: 30 }, (_, i) => plant(BigInt(i)))
    const results = await Promise.allSettled(all.map((one) => createPlant(store, one)))
    assert.deepEqual(results.filter(({ status }) => status === 'fulfilled').length, 10)
    for (const result of results) if (result.status === 'rejected') refusal(50302)(result.reason)
    assert.deepEqual(
      await plants(),
      all.filter((_, i) => results[i]?.status === 'fulfilled'),
    )
    assert.equal(await createPlant(store, plant(29n)), 'created', 'answered creates make room')
  })
}

function closeTests(suite: Suite): void {
  suite('checkWritable resolves', async ({ store }) => {
    assert.equal(await store.checkWritable(), undefined)
  })

  suite('close finishes waiting creates and changes of tokens', async ({ store, reopen, plants }) => {
    const kept = token('kept')
    const creates = Array.from({ length: 1500 }, (_, i) => createPlant(store, plant(BigInt(i))))
    const write = store.tokens.createToken(kept, hashSecret('kept'))
    await store.close()
    assert.ok((await Promise.all(creates)).every((result) => result === 'created'))
    await write
    assert.equal((await plants()).length, 1500)
    assert.deepEqual(await (await reopen()).tokens.listTokens(), [kept])
  })

  suite('a closing or closed store refuses every write and stores nothing', async ({ store, plants }) => {
    const closing = store.close()
    const writes = () => [
      createPlant(store, plant(1n)),
      store.tokens.createToken(token('late'), hashSecret('late')),
      store.tokens.touchToken('tok_any', new Date()),
      store.tokens.revokeToken('tok_any'),
      store.checkWritable(),
      replacePlant(store, plant(1n), NO_EXPECTATION, TESTER),
      updatePlant(store, 1n, {}, NO_EXPECTATION, TESTER),
      deletePlant(store, 1n, NO_EXPECTATION, TESTER),
      store.importPlants([plant(1n)], 'add', TESTER),
    ]
    for (const write of writes()) await assert.rejects(write, refusal(50303))
    await closing
    for (const write of writes()) await assert.rejects(write, refusal(50303))
    assert.deepEqual(await plants(), [])
  })

  suite('a closed store refuses every read', async ({ store }) => {
    const dryRun = await store.startDryRun('add')
    await store.close()
    const reads = [
      store.getPlant(1n),
      store.listPlants({ ...EVERYTHING, order: 'id', after: undefined }, 1),
      store.listPlants({ ...EVERYTHING, order: 'name', after: undefined }, 1),
      store.listTags({}, 1),
      store.countMatches(EVERYTHING, 1),
      store.startDryRun('add'),
      dryRun.importPlants([plant(1n)]),
      exportAll(store),
    ]
    await Promise.all(reads.map((read) => assert.rejects(read, refusal(50303))))
    await dryRun.close()
  })

  suite('close may be called twice', async ({ store }) => {
    await Promise.all([store.close(), store.close()])
    await store.close()
  })
}
