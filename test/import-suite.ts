import assert from 'node:assert/strict'
import { ALL_CHANGES } from '../src/domain/changes.ts'
import { AppError } from '../src/domain/errors.ts'
import {
  type ImportedPlant,
  type ImportMode,
  type ImportResult,
  MIN_ID,
  type NewPlant,
  NO_EXPECTATION,
} from '../src/domain/plant.ts'
import type { Actor } from '../src/domain/token.ts'
import { withIds } from '../src/import/assign-ids.ts'
import type { Batch } from '../src/import/batch.ts'
import { runImport } from '../src/import/run-import.ts'
import { TESTER } from './support/actor.ts'
import { replacePlant } from './support/change-plant.ts'
import { importAll } from './support/store-calls.ts'
import { plant, type Suite } from './support/store-under-test.ts'

/** Plants in the store. COMING has imported plants with the result of each mode. */
const BEFORE = [plant(1n, 'Monstera', 'houseplant'), plant(2n, 'Aloe'), plant(3n, 'Ficus', '')]
const COMING: readonly (readonly [NewPlant, add: ImportResult | number, update: ImportResult])[] = [
  [plant(1n, 'Monstera', 'houseplant'), 'unchanged', 'unchanged'],
  [plant(2n, 'Aloe', ''), 40901, 'updated'],
  [plant(3n, 'Ficus elastica', ''), 40901, 'updated'],
  [plant(4n, 'Hoya'), 'added', 'added'],
  [plant(4n, 'Hoya'), 'unchanged', 'unchanged'],
  [plant(4n, 'Hoya', 'x'), 40901, 'updated'],
  [plant(4n, 'Hoya'), 'unchanged', 'updated'],
]
const AFTER: Record<Exclude<ImportMode, 'delete'>, NewPlant[]> = {
  add: [...BEFORE, plant(4n, 'Hoya')],
  update: [
    plant(1n, 'Monstera', 'houseplant'),
    plant(2n, 'Aloe', ''),
    plant(3n, 'Ficus elastica', ''),
    plant(4n, 'Hoya'),
  ],
}
const coming = COMING.map(([one]) => one)
const expected = (mode: ImportMode) => COMING.map(([, add, update]) => (mode === 'add' ? add : update))
const told = (results: readonly ImportResult[]) =>
  results.map((result) => (result instanceof AppError ? result.number : result))

const OTHER: Actor = { id: 'tok_other', name: 'another test' }

/** Rows that say what they expect. Ten ids are free, as an engine may insert several new plants at once. */
const FREE = Array.from({ length: 10 }, (_, i) => plant(BigInt(10 + i), 'Hoya'))
const ROWS: readonly ImportedPlant[] = [
  ...FREE.map((hoya) => ({ ...hoya, before: { name: 'Hoya', tag: 'x' } })),
  { ...plant(1n, 'Monstera', 'sold'), before: { name: 'Monstera', tag: 'houseplant' } },
  { ...plant(1n, 'Monstera', 'gone'), before: { name: 'Monstera', tag: 'sold' } },
  { ...plant(2n, 'Aloe', 'sold'), before: { name: 'Aloe', tag: '' } },
  { ...plant(2n, 'Aloe'), before: { name: 'Agave', tag: 'x' } },
  { ...plant(3n, 'Ficus', 'sold'), before: { name: 'Ficus', tag: undefined } },
  plant(30n, 'Vanda'),
]
const EXPECTING = {
  add: {
    results: [...FREE.map(() => 'added'), 40901, 40901, 40901, 'unchanged', 40901, 'added'],
    after: [...BEFORE, ...FREE, plant(30n, 'Vanda')],
  },
  update: {
    results: [...FREE.map(() => 41201), 'updated', 'updated', 41201, 'unchanged', 41201, 'added'],
    after: [plant(1n, 'Monstera', 'gone'), plant(2n, 'Aloe'), plant(3n, 'Ficus', ''), plant(30n, 'Vanda')],
  },
} as const

/** The specification of Store for imports and their dry runs. */
export function importTests(suite: Suite): void {
  for (const mode of ['add', 'update'] as const) {
    suite(`an import to ${mode} decides each plant after the ones before it`, async ({ store, plants, reopen }) => {
      assert.deepEqual(told(await store.importPlants(BEFORE, mode, TESTER)), ['added', 'added', 'added'])
      assert.deepEqual(told(await store.importPlants(coming, mode, TESTER)), expected(mode))
      assert.deepEqual(await plants(), AFTER[mode])
      await reopen()
      assert.deepEqual(await plants(), AFTER[mode])
    })

    for (const dryRun of [false, true]) {
      const what = dryRun ? `a dry run of an import to ${mode}` : `an import to ${mode}`
      suite(`${what} that is stopped ends before its next batch, however many there are`, async ({ store, plants }) => {
        const stop = new AbortController()
        let read = 0
        async function* batches(): AsyncGenerator<Batch> {
          while (read < 1000) yield { plants: [plant(BigInt(read))], lines: [++read], refused: [] }
        }
        let taken = 0
        const take = () => {
          if (++taken === 2) stop.abort(new Error('stopped'))
        }
        const options = { mode, dryRun, duplicates: false, actor: TESTER }
        await assert.rejects(runImport(store, batches(), options, take, stop.signal), /^Error: stopped$/)
        // The third batch may be under way while the second one ends, and the fourth one be read meanwhile.
        assert.ok(taken <= 3 && read <= 4, `${taken} batches were imported and ${read} read`)
        assert.equal((await plants()).length, dryRun ? 0 : taken)
      })
    }

    suite(`an import to ${mode} heeds what its rows expect, and a dry run of it, too`, async ({ store, plants }) => {
      await importAll(store, BEFORE)
      const { results, after } = EXPECTING[mode]
      const dryRun = await store.startDryRun(mode)
      assert.deepEqual(told(await dryRun.importPlants(ROWS)), results)
      await dryRun.close()
      assert.deepEqual(told(await store.importPlants(ROWS, mode, TESTER)), results)
      assert.deepEqual(await plants(), after)
    })

    suite(`a dry run of an import to ${mode} has the same results, stores nothing`, async ({ store, plants }) => {
      await importAll(store, BEFORE)
      const dryRun = await store.startDryRun(mode)
      assert.deepEqual(told(await dryRun.importPlants(coming.slice(0, 5))), expected(mode).slice(0, 5))
      assert.deepEqual(
        told(await dryRun.importPlants(coming.slice(5))),
        expected(mode).slice(5),
        'it knows the earlier ones',
      )
      await dryRun.close()
      await dryRun.close()
      assert.deepEqual(await plants(), BEFORE)
    })
  }

  const only = (id: bigint): ImportedPlant => plant(id, '')
  const asItWas = (one: NewPlant): ImportedPlant => ({ ...one, before: one })
  const DELETES: readonly (readonly [row: ImportedPlant, result: ImportResult | number])[] = [
    [only(1n), 'deleted'],
    [only(1n), 'unchanged'],
    [only(9n), 'unchanged'],
    [asItWas(plant(2n, 'Aloe', '')), 41201],
    [asItWas(plant(2n, 'Aloe')), 'deleted'],
    [asItWas(plant(2n, 'Aloe')), 'unchanged'],
    [asItWas(plant(3n, 'Ficus')), 41201],
    ...Array.from({ length: 10 }, (_, i) => [only(BigInt(20 + i)), 'unchanged'] as const),
  ]
  suite('an import to delete removes what its rows say, and a dry run counts it', async ({ store, plants, reopen }) => {
    await importAll(store, BEFORE)
    const rows = DELETES.map(([row]) => row)
    const results = DELETES.map(([, result]) => result)
    const dryRun = await store.startDryRun('delete')
    assert.deepEqual(told(await dryRun.importPlants(rows.slice(0, 5))), results.slice(0, 5))
    assert.deepEqual(told(await dryRun.importPlants(rows.slice(5))), results.slice(5), 'it knows the earlier ones')
    await dryRun.close()
    assert.deepEqual(await plants(), BEFORE)
    assert.deepEqual(told(await store.importPlants(rows, 'delete', TESTER)), results)
    assert.deepEqual(await plants(), [plant(3n, 'Ficus', '')])
    await reopen()
    assert.deepEqual(await plants(), [plant(3n, 'Ficus', '')])
  })

  suite('deletes of an import are in the log of changes and in searches', async ({ store }) => {
    await importAll(store, BEFORE)
    const from = (await store.changes?.end()) ?? ''
    await store.importPlants([only(1n), asItWas(plant(2n, 'Aloe', 'other')), only(2n)], 'delete', OTHER)
    const found = await store.listPlants({ tags: ['houseplant'], words: [], order: 'id', after: undefined }, 10)
    assert.deepEqual(found, [])
    if (store.changes === undefined) return
    const { entries } = await store.changes.read({ ...ALL_CHANGES, after: from, limit: 10 })
    const seen = entries.map(({ type, plant: after, before, token }) => ({ type, after, before, token }))
    const deleted = (before: NewPlant) => ({ type: 'plant.deleted', after: undefined, before, token: OTHER.id })
    assert.deepEqual(seen, [deleted(plant(1n, 'Monstera', 'houseplant')), deleted(plant(2n, 'Aloe'))])
    const history = await store.changes.history(1n, undefined, 2)
    const types = history.map(({ type }) => type)
    assert.deepEqual(types, ['plant.deleted', 'plant.created'])
  })

  suite('an import of no plants returns no results', async ({ store }) => {
    assert.deepEqual(await store.importPlants([], 'add', TESTER), [])
    const dryRun = await store.startDryRun('add')
    assert.deepEqual(await dryRun.importPlants([]), [])
    await dryRun.close()
  })

  suite('an import stores the other plants when the engine refuses one', async ({ store, plants }) => {
    const results = await store.importPlants([plant(1n), plant(2n ** 63n), plant(3n)], 'update', TESTER)
    assert.deepEqual(told(results), ['added', 50001, 'added'])
    assert.deepEqual(await plants(), [plant(1n), plant(3n)])
  })

  suite('20,000 plants are imported in four groups beside other writes', async ({ store, plants }) => {
    const all = Array.from({ length: 20_000 }, (_, i) =>
      plant(BigInt(i), `plant ${i}`, i % 3 === 0 ? undefined : 'tag'),
    )
    let isOver = false
    const importing = importAll(store, all).finally(() => {
      isOver = true
    })
    for (let i = 0; !isOver; i++) await replacePlant(store, plant(-1n, `meanwhile ${i}`), NO_EXPECTATION, TESTER)
    await importing
    assert.deepEqual((await plants()).slice(1), all)
  })

  suite('a dry run sees writes of other clients, and other clients do not see the dry run', async ({ store }) => {
    const dryRun = await store.startDryRun('add')
    assert.deepEqual(told(await dryRun.importPlants([plant(1n, 'tried')])), ['added'])
    assert.deepEqual(told(await store.importPlants([plant(1n, 'real'), plant(2n, 'real')], 'add', TESTER)), [
      'added',
      'added',
    ])
    assert.deepEqual(told(await dryRun.importPlants([plant(2n, 'real'), plant(2n, 'tried')])), ['unchanged', 40901])
    await dryRun.close()
  })

  suite('a dry run yields the stored plants between its parts, without its own', async ({ store }) => {
    await importAll(store, BEFORE)
    const dryRun = await store.startDryRun('update')
    const stored = async () => (await Array.fromAsync(dryRun.storedPlants())).flat()
    assert.deepEqual(told(await dryRun.importPlants([plant(4n, 'Hoya'), plant(2n, 'x')])), ['added', 'updated'])
    assert.deepEqual(await stored(), BEFORE)
    for await (const [first] of dryRun.storedPlants()) {
      assert.deepEqual(first, BEFORE[0])
      break
    }
    await store.importPlants([plant(5n)], 'add', TESTER)
    assert.deepEqual(told(await dryRun.importPlants([plant(4n, 'Hoya'), plant(6n)])), ['unchanged', 'added'])
    assert.deepEqual(await stored(), [...BEFORE, plant(5n)])
    await dryRun.close()
  })

  suite('a dry run finds the rows that would add the name and the tag of a stored plant', async ({ store }) => {
    await importAll(store, BEFORE)
    const coming: readonly (readonly [plant: NewPlant, duplicateOf?: bigint])[] = [
      [plant(10n, 'Monstera', 'houseplant'), 1n],
      [plant(11n, 'Monstera')],
      [plant(12n, 'Aloe'), 2n],
      [plant(13n, 'Aloe', '')],
      [plant(14n, 'Ficus', ''), 3n],
      [plant(15n, 'Ficus')],
      [plant(16n, 'Hoya')],
      [plant(17n, 'Hoya')],
      [plant(18n, 'Aloe'), 2n],
      [plant(3n, 'Ficus', '')],
      [plant(1n, 'Aloe')],
    ]
    const batches = async function* (): AsyncGenerator<Batch> {
      for (const [i, [one]] of coming.entries()) yield { plants: [one], lines: [i + 1], refused: [] }
    }
    const options = { mode: 'add', dryRun: true, duplicates: true, actor: TESTER } as const
    const found = await runImport(store, batches(), options, () => {})
    const rows = coming.flatMap(([, id], i) => (id === undefined ? [] : [{ line: i + 1, id }]))
    assert.deepEqual(found, { duplicates: rows.length, duplicateRows: rows })
  })

  suite('few rows without ids are compared with plants that sort like them, more with all', async ({ store, t }) => {
    // More than a page of plants whose sort keys are equal.
    const alike = Array.from({ length: 250 }, (_, i) => plant(BigInt(i), i % 2 === 0 ? 'ALOE' : 'Áloe', `${i}`))
    await importAll(store, [plant(MIN_ID, 'Least'), ...alike, plant(1000n, 'aloe'), plant(1001n, 'Ficus')])
    const { mock } = t.mock.method(store, 'exportPlants')
    const rows = async function* (plants: readonly NewPlant[]): AsyncGenerator<Batch> {
      yield { plants, lines: plants.map((_, i) => i + 1), refused: [] }
    }
    const storedOf = async (plants: readonly NewPlant[]) => {
      const batches = withIds(store, rows(plants), { actor: TESTER, dryRun: true })
      return (await Array.fromAsync(batches)).flatMap(({ stored }) => stored ?? [])
    }
    const names = [['Least'], ['Ficus'], ['Ficus', ''], ['aloe'], ['Aloe'], ['ALOE', '248'], ['Áloe', '248']] as const
    const few = names.map(([name, tag]) => plant(0n, name, tag))
    assert.deepEqual(await storedOf(few), [1, 2, 4, 6])
    assert.equal(mock.callCount(), 0)
    const many = [...few, ...Array.from({ length: 50 }, (_, i) => plant(0n, `none ${i}`))]
    assert.deepEqual(await storedOf(many), [1, 2, 4, 6])
    assert.equal(mock.callCount(), 1)
  })

  suite('concurrent dry runs do not affect each other', async ({ store, plants }) => {
    const dryRuns = await Promise.all(Array.from({ length: 5 }, () => store.startDryRun('add')))
    for (const [i, dryRun] of dryRuns.entries()) {
      assert.deepEqual(told(await dryRun.importPlants([plant(1n, `by ${i}`)])), ['added'])
    }
    await Promise.all(dryRuns.map((dryRun) => dryRun.close()))
    assert.deepEqual(await plants(), [])
  })

  suite('a dry run takes 50,000 plants', async ({ store }) => {
    const dryRun = await store.startDryRun('add')
    for (let first = 0; first < 50_000; first += 5000) {
      const some = Array.from({ length: 5000 }, (_, i) => plant(BigInt(first + i)))
      assert.deepEqual(new Set(await dryRun.importPlants(some)), new Set(['added']))
    }
    assert.deepEqual(told(await dryRun.importPlants([plant(12_345n), plant(12_346n, 'other')])), ['unchanged', 40901])
    await dryRun.close()
  })
}

/** The specification of imports for a store that commits each import as a whole. */
export function wholeImportTests(suite: Suite): void {
  suite('concurrent imports run one after the other', async ({ store, plants }) => {
    const versions = Array.from({ length: 8 }, (_, version) =>
      Array.from({ length: 300 }, (_, i) => plant(BigInt(i), `version ${version}`)),
    )
    const results = await Promise.all(versions.map((version) => store.importPlants(version, 'update', TESTER)))
    const shown = results.map((result) => new Set(result).size)
    const wanted = versions.map(() => 1)
    assert.deepEqual(shown, wanted, 'each found or made all of them')
    assert.equal(results.filter(([first]) => first === 'added').length, 1)
    assert.equal(new Set((await plants()).map(({ name }) => name)).size, 1, 'all plants are those of the last import')
  })
}
