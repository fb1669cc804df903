import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import type { ChangeLog } from '../src/domain/changes.ts'
import type { NewPlant } from '../src/domain/plant.ts'
import type { PlantFilter, PlantOrder } from '../src/domain/plant-query.ts'
import type { Store } from '../src/domain/store.ts'
import { hashSecret, SCOPES, type Token } from '../src/domain/token.ts'
import { KnownPlants, type Plants } from './support/action-model.ts'
import { expectedNewest, readAll, readNewest } from './support/change-entries.ts'
import { createPlant } from './support/create-plant.ts'
import { expectedPlants, expectedTags } from './support/expected.ts'
import { act, CLIENTS, type Deed, deedOf, filter, manyDeed, order, plantOf } from './support/model-client.ts'
import { holds } from './support/property.ts'
import { exportAll, listAll } from './support/store-calls.ts'
import { assertActions, assertOwned, type Break, brokenUndo, type Undo, undo, undone } from './support/undo-model.ts'

/**
 * Long runs. PLANTSTORE_TEST_MODEL=250 makes 20,000 operations (docs/decisions/0057-actions.md), most of them beside
 * those of other clients.
 */
const LONG_RUNS = Number(process.env['PLANTSTORE_TEST_MODEL'] ?? 0)
const STEPS = LONG_RUNS === 0 ? { maxCommands: 30 } : ({ maxCommands: 60, size: 'max' } as const)
const TRIALS = LONG_RUNS === 0 ? { numRuns: 16 } : { numRuns: LONG_RUNS, budget: LONG_RUNS * 30_000 }

/** The expected content of the store. */
interface Model {
  readonly known: KnownPlants
  readonly tokens: Map<string, Token>
  operations: number
}

/** Disturbances of the indexer and of the index, which may come at any time. */
const DISTURBANCES = ['step', 'catch up', 'stop', 'kill', 'remove'] as const
export type Disturbance = (typeof DISTURBANCES)[number]

/** A new store for each run. */
export interface ModelStore {
  readonly store: Store
  /** Closes the store and opens it again. */
  reopen(): Promise<void>
  /** Opens the store in its state after a crash. Absent if the test cannot simulate one. */
  readonly crash?: () => Promise<void>
  /** Disturbs the data that the engine derives from plants. Absent if it derives none. */
  readonly disturb?: (disturbance: Disturbance) => Promise<void>
  /** All stored plants by id, read without the store. */
  plants(): Promise<NewPlant[]>
  close(): Promise<void>
}

/** @param open called for each run; its test ends after all runs */
export function modelSuite(name: string, open: (t: TestContext) => Promise<ModelStore>): void {
  test(`${name}: the store behaves like a map under any operations of several clients`, async (t) => {
    let operations = 0
    const property = fc.asyncProperty(fc.commands(COMMANDS, STEPS), async (sequence) => {
      const real = await open(t)
      const model: Model = { known: new KnownPlants(), tokens: new Map(), operations: 0 }
      try {
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        await assertSame(model, real)
      } finally {
        operations += model.operations
        await real.close()
      }
    })
    await holds(property, TRIALS)
    t.diagnostic(`${operations} operations`)
  })
}

/** A step of a run, as a command of fast-check. */
class Step implements fc.AsyncCommand<Model, ModelStore> {
  readonly #name: string
  readonly #work: (model: Model, real: ModelStore) => Promise<void>

  readonly #operations: number

  constructor(name: string, work: (model: Model, real: ModelStore) => Promise<void>, operations = 1) {
    this.#name = name
    this.#work = work
    this.#operations = operations
  }

  check = () => true
  run = (model: Model, real: ModelStore) => {
    model.operations += this.#operations
    return this.#work(model, real)
  }
  toString = () => this.#name
}

/** Concurrent work of several clients, each on its own plants. */
const together = (work: readonly (readonly Deed[])[]) =>
  new Step(
    `together(${inspect(work, { depth: 9 })})`,
    async ({ known }, { store }) => {
      await Promise.all(
        work.map(async (deeds, client) => {
          for (const deed of deeds) await act(store, deed, known, client)
        }),
      )
    },
    work.flat().length,
  )

/** Concurrent creates of the same few ids. */
const rivals = (creates: readonly NewPlant[]) =>
  new Step(`rivals(${inspect(creates)})`, async ({ known }, { store }) => {
    const { plants } = known
    const results = await Promise.allSettled(creates.map((plant) => createPlant(store, plant)))
    // The store decides which of several creates of a new id comes first. That decides all other results.
    for (const [i, plant] of creates.entries()) {
      const result = results[i]
      if (result?.status !== 'fulfilled' || result.value !== 'created') continue
      assert.ok(!plants.has(plant.id), `${plant.id} was created twice`)
      known.write(plant.id, plant)
    }
    for (const [i, { id, name, tag }] of creates.entries()) {
      const there = plants.get(id)
      assert.ok(there, `${id} was refused although it did not exist`)
      assert.equal(results[i]?.status === 'fulfilled', there.name === name && there.tag === tag)
    }
  })

const search = (meant: PlantFilter, by: PlantOrder, limit: number) =>
  new Step(`search(${inspect(meant)}, ${by}, ${limit})`, async ({ known: { plants } }, { store }) => {
    const expected = expectedPlants(plants.values(), { ...meant, order: by, after: undefined }, 10_000)
    assert.deepEqual(await listAll(store, { ...meant, order: by }, limit), expected)
    assert.deepEqual(await exportAll(store, meant, by), expected)
    assert.deepEqual(await store.listTags({}, 1000), expectedTags(plants.values()))
  })

const undoAny = (wanted: Undo) =>
  new Step(`undo(${inspect(wanted)})`, ({ known }, { store }) => undo(store, known, '', wanted))

/** An undo with a break, in which the store is opened again, or other clients change plants. */
const undoInParts = (wanted: Undo, how: Break, work: readonly Deed[], isCrash: boolean) =>
  new Step(`undo(${inspect([wanted, how, work, isCrash], { depth: 9 })})`, async (model, real) => {
    await brokenUndo(real, model.known, wanted, how, async () => {
      await (isCrash ? (real.crash?.() ?? real.reopen()) : real.reopen())
      if (how !== 'begins again after changes') return
      for (const deed of work) await act(real.store, deed, model.known, 0)
    })
  })

const listActions = (limit: number, target: number) =>
  new Step(`listActions(${limit}, ${target})`, async ({ known }, { store }) => {
    await assertActions(store, known, limit)
    await assertOwned(store, known, target)
  })

const createToken = (name: string, expiresAt: Date | undefined) =>
  new Step(`createToken(${name})`, async ({ tokens }, { store }) => {
    const token = {
      id: `tok_${name}`,
      name,
      scopes: SCOPES,
      part: expiresAt && ['a/', name],
      createdAt: new Date(0),
      expiresAt,
      lastUsedAt: undefined,
      revokedAt: undefined,
    }
    if (tokens.has(token.id)) return
    await store.tokens.createToken(token, hashSecret(token.id))
    tokens.set(token.id, token)
  })

const revokeToken = (name: string) =>
  new Step(`revokeToken(${name})`, async ({ tokens }, { store }) => {
    const id = `tok_${name}`
    const token = tokens.get(id)
    const isGood = token !== undefined && token.revokedAt === undefined
    const expected = token === undefined ? 'absent' : isGood ? 'revoked' : 'revoked before'
    assert.equal(await store.tokens.revokeToken(id), expected)
    const revokedAt = (await store.tokens.listTokens()).find((listed) => listed.id === id)?.revokedAt
    assert.equal(revokedAt !== undefined, token !== undefined)
    if (isGood) tokens.set(id, { ...token, revokedAt })
  })

const touchToken = (name: string, lastUsedAt: Date) =>
  new Step(`touchToken(${name})`, async ({ tokens }, { store }) => {
    await store.tokens.touchToken(`tok_${name}`, lastUsedAt)
    const token = tokens.get(`tok_${name}`)
    if (token !== undefined) tokens.set(token.id, { ...token, lastUsedAt })
  })

const reopen = new Step('reopen()', async (model, real) => {
  await real.reopen()
  await assertSame(model, real)
})

const crash = new Step('crash()', async (model, real) => {
  await (real.crash?.() ?? real.reopen())
  await assertSame(model, real)
})

const disturb = (disturbance: Disturbance) =>
  new Step(`disturb(${disturbance})`, async (_, real) => await real.disturb?.(disturbance))

async function assertSame({ known, tokens }: Model, { store, plants: kept }: ModelStore): Promise<void> {
  const { plants } = known
  const all = expectedPlants(plants.values(), { tags: [], words: [], order: 'id', after: undefined }, 10_000)
  assert.deepEqual(await kept(), all)
  assert.deepEqual(await listAll(store), all)
  if (store.changes !== undefined) await assertNewest(plants, store.changes)
  await assertActions(store, known)
  assert.deepEqual(new Map((await store.tokens.listTokens()).map((token) => [token.id, token])), tokens)
  for (const [id, token] of tokens) assert.deepEqual(await store.tokens.findToken(hashSecret(id)), token)
}

/** The log has every change, so it has each plant once, and the ids that have none any more. */
async function assertNewest(plants: Plants, log: ChangeLog): Promise<void> {
  const entries = await readAll(log)
  const stored = await readNewest(log, { of: 'stored', limit: 4 })
  const deleted = await readNewest(log, { of: 'deleted', limit: 4 })
  assert.deepEqual(stored, expectedNewest(entries, { of: 'stored' }))
  assert.deepEqual(deleted, expectedNewest(entries, { of: 'deleted' }))
  assert.deepEqual(new Map(stored.map(({ plant }) => [plant?.id, plant])), plants)
  const found = deleted.filter(({ before }) => plants.has(before?.id ?? 0n))
  assert.deepEqual(found, [])
}

const clients = Array.from({ length: Number(CLIENTS) }, (_, client) => fc.array(deedOf(client), { maxLength: 8 }))
const tokenName = fc.constantFrom('a', 'b', 'c')
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') })
const COMMANDS = [
  // A repeated entry makes its step more frequent.
  fc.tuple(...clients).map(together),
  fc.tuple(...clients).map(together),
  fc.tuple(...clients).map(together),
  fc
    .array(
      plantOf(() => true),
      { maxLength: 12 },
    )
    .map(rivals),
  fc.tuple(filter, order, fc.integer({ min: 1, max: 9 })).map((asked) => search(...asked)),
  fc.tuple(filter, order, fc.integer({ min: 1, max: 9 })).map((asked) => search(...asked)),
  manyDeed.map((deed) => together([[], [deed], []])),
  fc.record(undone).map(undoAny),
  fc
    .tuple(
      fc.record(undone),
      fc.constantFrom<Break[]>('goes on', 'begins again', 'begins again after changes'),
      fc.array(fc.oneof(deedOf(0), manyDeed), { maxLength: 4 }),
      fc.boolean(),
    )
    .map((asked) => undoInParts(...asked)),
  fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(30)).map((asked) => listActions(...asked)),
  fc.tuple(tokenName, fc.option(time, { nil: undefined })).map((asked) => createToken(...asked)),
  tokenName.map(revokeToken),
  fc.tuple(tokenName, time).map((asked) => touchToken(...asked)),
  fc.constantFrom(...DISTURBANCES).map(disturb),
  fc.constantFrom(...DISTURBANCES).map(disturb),
  fc.constant(reopen),
  fc.constant(crash),
]
