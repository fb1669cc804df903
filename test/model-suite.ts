import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import fc from 'fast-check'
import type { ChangeLog } from '../src/domain/changes.ts'
import type { NewPlant } from '../src/domain/plant.ts'
import type { PlantFilter, PlantOrder } from '../src/domain/plant-query.ts'
import type { Store } from '../src/domain/store.ts'
import { hashSecret, SCOPES, type Token } from '../src/domain/token.ts'
import { expectedNewest, readAll, readNewest } from './support/change-entries.ts'
import { createPlant } from './support/create-plant.ts'
import { expectedPlants, expectedTags } from './support/expected.ts'
import {
  type Action,
  act,
  actionOf,
  CLIENTS,
  filter,
  isOf,
  order,
  type Plants,
  plantOf,
} from './support/model-client.ts'
import { holds } from './support/property.ts'
import { exportAll, listAll } from './support/store-calls.ts'

/** The expected content of the store. */
interface Model {
  readonly plants: Plants
  readonly tokens: Map<string, Token>
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
    const property = fc.asyncProperty(fc.commands(COMMANDS, { maxCommands: 30 }), async (sequence) => {
      const real = await open(t)
      const model: Model = { plants: new Map(), tokens: new Map() }
      try {
        await fc.asyncModelRun(() => ({ model, real }), sequence)
        await assertSame(model, real)
      } finally {
        await real.close()
      }
    })
    await holds(property, { numRuns: 16 })
  })
}

/** A step of a run, as a command of fast-check. */
class Step implements fc.AsyncCommand<Model, ModelStore> {
  readonly #name: string
  readonly #work: (model: Model, real: ModelStore) => Promise<void>

  constructor(name: string, work: (model: Model, real: ModelStore) => Promise<void>) {
    this.#name = name
    this.#work = work
  }

  check = () => true
  run = (model: Model, real: ModelStore) => this.#work(model, real)
  toString = () => this.#name
}

/** Concurrent work of several clients, each on its own plants. */
const together = (work: readonly (readonly Action[])[]) =>
  new Step(`together(${inspect(work, { depth: 9 })})`, async ({ plants }, { store }) => {
    await Promise.all(
      work.map(async (actions, client) => {
        for (const action of actions) await act(store, action, plants, isOf(client))
      }),
    )
  })

/** Concurrent creates of the same few ids. */
const rivals = (creates: readonly NewPlant[]) =>
  new Step(`rivals(${inspect(creates)})`, async ({ plants }, { store }) => {
    const results = await Promise.allSettled(creates.map((plant) => createPlant(store, plant, { mustBeNew: false })))
    // The store decides which of several creates of a new id comes first. That decides all other results.
    for (const [i, plant] of creates.entries()) {
      const result = results[i]
      if (result?.status !== 'fulfilled' || result.value !== 'created') continue
      assert.ok(!plants.has(plant.id), `${plant.id} was created twice`)
      plants.set(plant.id, plant)
    }
    for (const [i, { id, name, tag }] of creates.entries()) {
      const there = plants.get(id)
      assert.ok(there, `${id} was refused although it did not exist`)
      assert.equal(results[i]?.status === 'fulfilled', there.name === name && there.tag === tag)
    }
  })

const search = (meant: PlantFilter, by: PlantOrder, limit: number) =>
  new Step(`search(${inspect(meant)}, ${by}, ${limit})`, async ({ plants }, { store }) => {
    const expected = expectedPlants(plants.values(), { ...meant, order: by, after: undefined }, 10_000)
    assert.deepEqual(await listAll(store, { ...meant, order: by }, limit), expected)
    assert.deepEqual(await exportAll(store, meant, by), expected)
    assert.deepEqual(await store.listTags({}, 1000), expectedTags(plants.values()))
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

async function assertSame({ plants, tokens }: Model, { store, plants: kept }: ModelStore): Promise<void> {
  const all = expectedPlants(plants.values(), { tags: [], words: [], order: 'id', after: undefined }, 10_000)
  assert.deepEqual(await kept(), all)
  assert.deepEqual(await listAll(store), all)
  if (store.changes !== undefined) await assertNewest(plants, store.changes)
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
  assert.deepEqual(
    deleted.filter(({ before }) => plants.has(before?.id ?? 0n)),
    [],
  )
}

const clients = Array.from({ length: Number(CLIENTS) }, (_, client) =>
  fc.array(actionOf(isOf(client)), { maxLength: 8 }),
)
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
  fc.tuple(tokenName, fc.option(time, { nil: undefined })).map((asked) => createToken(...asked)),
  tokenName.map(revokeToken),
  fc.tuple(tokenName, time).map((asked) => touchToken(...asked)),
  fc.constantFrom(...DISTURBANCES).map(disturb),
  fc.constantFrom(...DISTURBANCES).map(disturb),
  fc.constant(reopen),
  fc.constant(crash),
]
