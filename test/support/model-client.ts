import assert from 'node:assert/strict'
import fc from 'fast-check'
import { AppError } from '../../src/domain/errors.ts'
import {
  type Expectation,
  type ImportMode,
  MAX_ID,
  MIN_ID,
  type NewPlant,
  type PlantPatch,
  versionOf,
} from '../../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantFilter, type PlantOrder, words } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import { TESTER } from './actor.ts'
import { deletePlant, replacePlant, updatePlant } from './change-plant.ts'
import { createPlant } from './create-plant.ts'
import { expectedPlants } from './expected.ts'
import { anyCharacter } from './property.ts'
import { listAll } from './store-calls.ts'

export type Plants = Map<bigint, NewPlant>

/** A condition that an expectation sets for the present plant. */
type Demand = 'nothing' | 'as it is' | 'another' | 'there' | 'not there'

/** An action of a client on its own plants. */
export type Action =
  | { readonly kind: 'create'; readonly plant: NewPlant; readonly mustBeNew: boolean }
  | { readonly kind: 'replace'; readonly plant: NewPlant; readonly demand: Demand }
  | { readonly kind: 'update'; readonly plant: NewPlant; readonly patch: PlantPatch; readonly demand: Demand }
  | { readonly kind: 'delete'; readonly plant: NewPlant; readonly demand: Demand }
  | { readonly kind: 'import'; readonly plants: readonly NewPlant[]; readonly mode: ImportMode }
  | { readonly kind: 'read'; readonly plant: NewPlant }
  | { readonly kind: 'search'; readonly filter: PlantFilter; readonly order: PlantOrder }

/** Runs the action, and asserts that the store answers like a map of the client's plants. */
export async function act(store: Store, action: Action, plants: Plants, isOwn: (id: bigint) => boolean): Promise<void> {
  if (action.kind === 'search') {
    const seen = (await listAll(store, { ...action.filter, order: action.order }, 7)).filter(({ id }) => isOwn(id))
    const own = [...plants.values()].filter(({ id }) => isOwn(id))
    assert.deepEqual(seen, expectedPlants(own, { ...action.filter, order: action.order, after: undefined }, 10_000))
  } else if (action.kind === 'import') {
    const outcomes = (await store.importPlants(action.plants, action.mode, TESTER)).map(numberOf)
    assert.deepEqual(
      outcomes,
      action.plants.map((plant) => imported(plant, action.mode, plants)),
    )
  } else if (action.kind === 'read') {
    assert.deepEqual(await store.getPlant(action.plant.id), plants.get(action.plant.id))
  } else {
    const { expected, outcome } = changed(action, plants)
    assert.deepEqual(await change(store, action, expected).catch(numberOf), outcome)
  }
}

type Change = Extract<Action, { readonly kind: 'create' | 'replace' | 'update' | 'delete' }>

function change(store: Store, action: Change, expected: Expectation): Promise<unknown> {
  switch (action.kind) {
    case 'create':
      return createPlant(store, action.plant, { mustBeNew: action.mustBeNew })
    case 'replace':
      return replacePlant(store, action.plant, expected, TESTER)
    case 'update':
      return updatePlant(store, action.plant.id, action.patch, expected, TESTER)
    case 'delete':
      return deletePlant(store, action.plant.id, expected, TESTER)
  }
}

/** Applies the expected change to the map. */
function changed(action: Change, plants: Plants): { expected: Expectation; outcome: unknown } {
  const { id } = action.plant
  const there = plants.get(id)
  if (action.kind === 'create') {
    if (there === undefined) plants.set(id, action.plant)
    const found = isSame(there, action.plant) ? 'unchanged' : 40901
    return { expected: {}, outcome: there === undefined ? 'created' : action.mustBeNew ? 41201 : found }
  }
  const expected = expectationOf(action.demand, there)
  if (there === undefined && action.kind !== 'replace') return { expected, outcome: 40402 }
  if (!holds(action.demand, there)) return { expected, outcome: 41201 }
  if (action.kind === 'replace') {
    plants.set(id, action.plant)
    return { expected, outcome: there === undefined ? 'created' : 'replaced' }
  }
  if (action.kind === 'delete') {
    plants.delete(id)
    return { expected, outcome: undefined }
  }
  const { name = there?.name ?? '', tag = there?.tag } = action.patch
  const whole = { id, name, tag: tag ?? undefined }
  plants.set(id, whole)
  return { expected, outcome: whole }
}

function imported(plant: NewPlant, mode: ImportMode, plants: Plants): string | number {
  const there = plants.get(plant.id)
  if (isSame(there, plant)) return 'unchanged'
  if (there !== undefined && mode === 'add') return 40901
  plants.set(plant.id, plant)
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

export const actionOf = (isOwn: (id: bigint) => boolean): fc.Arbitrary<Action> => {
  const plant = plantOf(isOwn)
  const patch = fc.record(
    { name: text, tag: fc.option(text, { nil: null }) },
    { requiredKeys: [], noNullPrototype: true },
  )
  return fc.oneof(
    fc.record({ kind: fc.constant('create'), plant, mustBeNew: fc.boolean() }),
    fc.record({ kind: fc.constant('replace'), plant, demand }),
    fc.record({ kind: fc.constant('update'), plant, patch, demand }),
    fc.record({ kind: fc.constant('delete'), plant, demand }),
    fc.record({
      kind: fc.constant('import'),
      plants: fc.array(plant, { maxLength: 9 }),
      mode: fc.constantFrom('add', 'update'),
    }),
    fc.record({ kind: fc.constant('read'), plant }),
    fc.record({ kind: fc.constant('search'), filter, order }),
  )
}
