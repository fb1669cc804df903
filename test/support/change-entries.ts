import assert from 'node:assert/strict'
import type { ChangeEntry, ChangeLog, ChangeRequest, NewestRequest } from '../../src/domain/changes.ts'
import { type NewPlant, NO_EXPECTATION } from '../../src/domain/plant.ts'
import { matches } from '../../src/domain/plant-query.ts'
import type { Store } from '../../src/domain/store.ts'
import { TESTER } from './actor.ts'
import { deletePlant, replacePlant } from './change-plant.ts'
import { plant } from './store-under-test.ts'

export const OTHER = { id: 'tok_other', name: 'another' }

/** The log of a store that has one. */
export const logOf = ({ changes }: Store): ChangeLog => changes ?? assert.fail('the store has no log of changes')

export const FIRST: ChangeRequest = { after: undefined, limit: 1000, tags: [] }

/** All entries after a position, page by page. */
export async function readAll(log: ChangeLog, request: Partial<ChangeRequest> = {}): Promise<ChangeEntry[]> {
  const all: ChangeEntry[] = []
  let after = request.after
  for (;;) {
    const { entries, next, isEnd } = await log.read({ ...FIRST, ...request, after })
    all.push(...entries)
    after = next
    if (isEnd) return all
  }
}

/** All plants of a request by their newest changes, page by page. */
export async function readNewest(log: ChangeLog, request: Partial<NewestRequest>): Promise<ChangeEntry[]> {
  const all: ChangeEntry[] = []
  for (let before: string | undefined; ; ) {
    const { entries, next } = await log.newest({ of: 'stored', tags: [], words: [], limit: 3, ...request, before })
    all.push(...entries)
    before = next
    if (before === undefined) return all
  }
}

/** The same, computed from all entries. */
export function expectedNewest(all: readonly ChangeEntry[], { of, ...filter }: Partial<NewestRequest>): ChangeEntry[] {
  const newest = new Map(all.map((entry) => [(entry.plant ?? entry.before)?.id, entry]))
  return all
    .toReversed()
    .filter((entry) => newest.get((entry.plant ?? entry.before)?.id) === entry)
    .filter(({ plant }) => (plant === undefined) === (of === 'deleted'))
    .filter(({ plant, before }) => matches({ tags: [], words: [], ...filter }, plant ?? before ?? assert.fail()))
}

/** The parts of an entry that a test knows before. */
export const known = ({ type, plant, before, token }: ChangeEntry): object => ({ type, plant, before, token })

export const created = (plant: NewPlant, token = TESTER.id): object => ({
  type: 'plant.created',
  plant,
  before: undefined,
  token,
})
export const updated = (before: NewPlant, plant: NewPlant, token = TESTER.id): object => ({
  type: 'plant.updated',
  plant,
  before,
  token,
})
export const deleted = (before: NewPlant, token = TESTER.id): object => ({
  type: 'plant.deleted',
  plant: undefined,
  before,
  token,
})

export const aloe = plant(1n, 'Aloe', 'succulent')
export const fern = plant(1n, 'Fern', 'houseplant')
export const moss = plant(1n, 'Moss')

export const replace = (store: Store, one: NewPlant, actor = TESTER): Promise<'created' | 'replaced'> =>
  replacePlant(store, one, NO_EXPECTATION, actor)
export const remove = (store: Store, id: bigint): Promise<void> => deletePlant(store, id, NO_EXPECTATION, TESTER)
