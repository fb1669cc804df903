import assert from 'node:assert/strict'
import fc from 'fast-check'
import { AppError } from '../../src/domain/errors.ts'
import {
  type Expectation,
  type ImportedPlant,
  type ImportMode,
  MAX_ID,
  MIN_ID,
  type NewPlant,
  type PlantPatch,
  versionOf,
} from '../../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantFilter, type PlantOrder, words } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import type { Actor } from '../../src/domain/token.ts'
import type { KnownPlants, Plants } from './action-model.ts'
import { TESTER } from './actor.ts'
import { deletePlant, replacePlant, updatePlant } from './change-plant.ts'
import { expectedPlants } from './expected.ts'
import { anyCharacter } from './property.ts'
import { listAll } from './store-calls.ts'
import { type Undo, undo, undone } from './undo-model.ts'

/** A condition that an expectation sets for the present plant. */
type Demand = 'nothing' | 'as it is' | 'another' | 'there' | 'not there'

/** Which of the actions of a client, or of those of all clients, a write belongs to; undefined for a write on its own. */
type In = 0 | 1 | 2 | 'all' | undefined

/** What a client does with its own plants. */
export type Deed =
  | { readonly kind: 'create'; readonly plant: NewPlant; readonly mustBeNew: boolean; readonly in: In }
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly demand: Demand; readonly in: In }
  | {
      readonly kind: 'update'
      readonly plant: NewPlant
      readonly patch: PlantPatch
      readonly demand: Demand
      readonly in: In
    }
  | { readonly kind: 'delete'; readonly plant: NewPlant; readonly demand: Demand; readonly in: In }
  | {
      readonly kind: 'import' | 'dry import'
      readonly plants: readonly NewPlant[]
      readonly mode: ImportMode
      readonly in: In
    }
  | { readonly kind: 'many'; readonly count: number; readonly name: string; readonly mode: ImportMode; readonly in: In }
  | { readonly kind: 'retag'; readonly from: string | undefined; readonly to: string | undefined; readonly in: In }
  | ({ readonly kind: 'undo' } & Undo)
  | { readonly kind: 'read'; readonly plant: NewPlant }
  | { readonly kind: 'search'; readonly filter: PlantFilter; readonly order: PlantOrder }

/** The actor of a write of a client, whose actions have one title each. */
const actorOf = (client: number, within: In): Actor => {
  if (within === undefined) return TESTER
  const id = within === 'all' ? 'all' : `c${client}-${within}`
  return { ...TESTER, action: { id, title: within === 0 ? undefined : `the work ${id}` } }
}

/** Runs a deed of a client, and asserts that the store answers like a map of the client's plants. */
export async function act(store: Store, deed: Deed, known: KnownPlants, client: number): Promise<void> {
  const isOwn = isOf(client)
  const { plants } = known
  switch (deed.kind) {
    case 'search': {
      const seen = (await listAll(store, { ...deed.filter, order: deed.order }, 7)).filter(({ id }) => isOwn(id))
      const own = [...plants.values()].filter(({ id }) => isOwn(id))
      assert.deepEqual(seen, expectedPlants(own, { ...deed.filter, order: deed.order, after: undefined }, 10_000))
      return
    }
    case 'read':
      assert.deepEqual(await store.getPlant(deed.plant.id), plants.get(deed.plant.id))
      return
    case 'undo':
      return undo(store, known, `c${client}-`, deed)
    case 'dry import':
      return tryImport(store, deed.plants, deed.mode, plants)
    case 'import':
      return importAll(store, deed.plants, deed.mode, known, actorOf(client, deed.in))
    case 'many':
      return importAll(store, manyOf(client, deed), deed.mode, known, actorOf(client, deed.in))
    case 'retag': {
      const own = [...plants.values()].filter(({ id, tag }) => isOwn(id) && tag === deed.from)
      const retagged = own.map(({ id, name, tag }) => ({ id, name, tag: deed.to, before: { name, tag } }))
      return importAll(store, retagged, 'update', known, actorOf(client, deed.in))
    }
    default: {
      const actor = actorOf(client, deed.in)
      const { expected, outcome } = changed(deed, known, actor)
      assert.deepEqual(await change(store, deed, expected, actor).catch(numberOf), outcome)
    }
  }
}

/** Plants of a client that one step of an undo does not take all. */
const manyOf = (client: number, { count, name }: Extract<Deed, { readonly kind: 'many' }>): NewPlant[] =>
  Array.from({ length: count }, (_, i) => ({
    id: 1000n * CLIENTS + BigInt(i) * CLIENTS + BigInt(client),
    name: `${name} ${i}`,
    tag: i % 3 === 0 ? name : undefined,
  }))

async function importAll(
  store: Store,
  rows: readonly ImportedPlant[],
  mode: ImportMode,
  known: KnownPlants,
  actor: Actor,
): Promise<void> {
  const outcomes = (await store.importPlants(rows, mode, actor)).map(numberOf)
  const expected = rows.map(({ id, name, tag }) => {
    const plant = { id, name, tag }
    const outcome = imported(plant, mode, known.plants)
    if (typeof outcome === 'string') known.write(id, mode === 'delete' ? undefined : plant, actor.action)
    return outcome
  })
  assert.deepEqual(outcomes, expected)
}

/** Tries an import, and asserts that it answers as a real one would. */
async function tryImport(store: Store, rows: readonly NewPlant[], mode: ImportMode, plants: Plants): Promise<void> {
  const tried = new Map(plants)
  const run = await store.startDryRun(mode)
  try {
    const outcomes = (await run.importPlants(rows)).map(numberOf)
    const expected = rows.map((plant) => {
      const outcome = imported(plant, mode, tried)
      if (mode === 'delete') tried.delete(plant.id)
      else if (typeof outcome === 'string') tried.set(plant.id, plant)
      return outcome
    })
    assert.deepEqual(outcomes, expected)
  } finally {
    await run.close()
  }
}

type Change = Extract<Deed, { readonly kind: 'create' | 'replace' | 'update' | 'delete' }>

function change(store: Store, deed: Change, expected: Expectation, actor: Actor): Promise<unknown> {
  switch (deed.kind) {
    case 'create':
      return store.createPlant(deed.plant, { mustBeNew: deed.mustBeNew }, actor)
    case 'replace':
      return replacePlant(store, deed.plant, expected, actor)
    case 'update':
      return updatePlant(store, deed.plant.id, deed.patch, expected, actor)
    case 'delete':
      return deletePlant(store, deed.plant.id, expected, actor)
  }
}

/** Applies the expected change to what is known. */
function changed(deed: Change, known: KnownPlants, { action }: Actor): { expected: Expectation; outcome: unknown } {
  const { id } = deed.plant
  const there = known.plants.get(id)
  if (deed.kind === 'create') {
    if (there === undefined) known.write(id, deed.plant, action)
    const found = isSame(there, deed.plant) ? 'unchanged' : 40901
    return { expected: {}, outcome: there === undefined ? 'created' : deed.mustBeNew ? 41201 : found }
  }
  const expected = expectationOf(deed.demand, there)
  if (there === undefined && deed.kind !== 'replace') return { expected, outcome: 40402 }
  if (!holds(deed.demand, there)) return { expected, outcome: 41201 }
  if (deed.kind === 'replace') {
    known.write(id, deed.plant, action)
    return { expected, outcome: there === undefined ? 'created' : 'replaced' }
  }
  if (deed.kind === 'delete') {
    known.write(id, undefined, action)
    return { expected, outcome: undefined }
  }
  const { name = there?.name ?? '', tag = there?.tag } = deed.patch
  const whole = { id, name, tag: tag ?? undefined }
  known.write(id, whole, action)
  return { expected, outcome: whole }
}

function imported(plant: NewPlant, mode: ImportMode, plants: Plants): string | number {
  const there = plants.get(plant.id)
  if (mode === 'delete') return there === undefined ? 'unchanged' : 'deleted'
  if (isSame(there, plant)) return 'unchanged'
  if (there !== undefined && mode === 'add') return 40901
  return there === undefined ? 'added' : 'updated'
}

const OTHER_VERSION = '0000000000000000'

function expectationOf(demand: Demand, there: NewPlant | undefined): Expectation {
  switch (demand) {
    case 'nothing':
      return {}
    case 'as it is':
      return { at: [there === undefined ? OTHER_VERSION : versionOf(there)] }
    case 'another':
      return { at: [OTHER_VERSION] }
    case 'there':
      return { at: 'any' }
    case 'not there':
      return { notAt: 'any' }
  }
}

function holds(demand: Demand, there: NewPlant | undefined): boolean {
  if (demand === 'nothing') return true
  return demand !== 'another' && (there !== undefined) === (demand !== 'not there')
}

const isSame = (a: NewPlant | undefined, b: NewPlant): boolean => a?.name === b.name && a.tag === b.tag

function numberOf(result: unknown): unknown {
  if (result instanceof AppError) return result.number
  if (result instanceof Error) throw result
  return result
}

/** Each client owns the ids with its remainder. */
export const CLIENTS = 3n
export const isOf = (client: number) => (id: bigint) => ((id % CLIENTS) + CLIENTS) % CLIENTS === BigInt(client)

// Few ids and texts, so that plants coincide, and sometimes any id or text.
const piece = fc.constantFrom('', 'a', 'A', 'é', 'e\u0301', 'aloe vera', 'Aloe', 'abcdefghij', 'ß SS', '🌵')
export const text = fc.oneof(
  piece,
  fc.string({ unit: anyCharacter, maxLength: 20 }).filter((any) => !any.includes('\0')),
)
const anyId = fc.oneof(
  fc.bigInt(-9n, 9n),
  fc.constantFrom(MIN_ID, 2n ** 53n, 2n ** 53n + 1n, MAX_ID),
  fc.bigInt(MIN_ID, MAX_ID),
)

const demand = fc.constantFrom<Demand[]>('nothing', 'nothing', 'as it is', 'another', 'there', 'not there')
const tag = fc.option(piece, { nil: undefined })
export const filter = fc.record({
  tags: fc.array(text, { maxLength: 2 }),
  words: fc.oneof(fc.constant(''), text).map(words),
})
export const order = fc.constantFrom(...PLANT_ORDERS)

export const plantOf = (isOwn: (id: bigint) => boolean): fc.Arbitrary<NewPlant> =>
  fc.record(
    { id: anyId.filter(isOwn), name: text, tag: fc.option(text, { nil: undefined }) },
    { noNullPrototype: true },
  )

/** @param client the one whose plants these are */
export const deedOf = (client: number): fc.Arbitrary<Deed> => {
  const plant = plantOf(isOf(client))
  const patch = fc.record(
    { name: text, tag: fc.option(text, { nil: null }) },
    { requiredKeys: [], noNullPrototype: true },
  )
  const within = { in: fc.constantFrom<In[]>(undefined, undefined, 0, 0, 1, 2, 'all') }
  const mode = fc.constantFrom<ImportMode[]>('add', 'update', 'update', 'delete')
  return fc.oneof(
    fc.record({ kind: fc.constant('create'), plant, mustBeNew: fc.boolean(), ...within }),
    fc.record({ kind: fc.constant('replace'), plant, demand, ...within }),
    fc.record({ kind: fc.constant('update'), plant, patch, demand, ...within }),
    fc.record({ kind: fc.constant('delete'), plant, demand, ...within }),
    fc.record({
      kind: fc.constantFrom('import', 'import', 'dry import'),
      plants: fc.array(plant, { maxLength: 9 }),
      mode,
      ...within,
    }),
    fc.record({ kind: fc.constant('retag'), from: tag, to: tag, ...within }),
    fc.record({ kind: fc.constant('undo'), ...undone }),
    fc.record({ kind: fc.constant('read'), plant }),
    fc.record({ kind: fc.constant('search'), filter, order }),
  )
}

/** An import of a client that is too large for one step of an undo. */
export const manyDeed: fc.Arbitrary<Deed> = fc.record({
  kind: fc.constant('many'),
  count: fc.integer({ min: 200, max: 500 }),
  name: piece,
  mode: fc.constantFrom<ImportMode[]>('update', 'update', 'update', 'delete'),
  in: fc.constantFrom<In[]>(undefined, 0, 'all', 'all'),
})
