import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Action } from '../src/domain/actions.ts'
import { AppError } from '../src/domain/errors.ts'
import { covers, type Part } from '../src/domain/part.ts'
import { storeOf } from '../src/domain/part-store.ts'
import { isEqual, NO_EXPECTATION } from '../src/domain/plant.ts'
import { PLANT_ORDERS, type PlantFilter } from '../src/domain/plant-query.ts'
import type { Store } from '../src/domain/store.ts'
import type { Actor } from '../src/domain/token.ts'
import { FIRST, known, logOf, readAll, readNewest } from './support/change-entries.ts'
import { openPostgres } from './support/open-postgres.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { holds } from './support/property.ts'
import { exportAll, listAll } from './support/store-calls.ts'
import { type OpenStore, plant, refusal } from './support/store-under-test.ts'

/** Runs of 100 writes. PLANTSTORE_TEST_PARTS=200 makes the 20,000 of the proof (docs/decisions/0058-parts.md). */
const RUNS = Number(process.env['PLANTSTORE_TEST_PARTS'] ?? 2)

/** Parts that overlap: the tags of one house, some tags, and both. */
const PARTS: readonly Part[] = [['house 1/'], ['bed', 'house 1/b', 'none'], ['house 1/', 'house 2/', 'bed']]
const TAGS = ['house 1/', 'house 1/a', 'house 1/b', 'house 2/a', 'house 1', 'bed', 'bed 2', '', undefined]
const actorOf = (part: Part | undefined, i: number): Actor => ({ id: `tok_${i}`, name: 'a test', part })
const ACTORS = [...PARTS, undefined].map(actorOf)

const step = fc.record({
  by: fc.nat(ACTORS.length - 1),
  kind: fc.constantFrom('create', 'replace', 'tag', 'rename', 'delete', 'add', 'update', 'remove'),
  id: fc.bigInt(-1n, 6n),
  name: fc.constantFrom('Aloe vera', 'Aloe', 'Rosa'),
  tag: fc.constantFrom(...TAGS),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

const filter: fc.Arbitrary<PlantFilter> = fc
  .tuple(
    fc.constantFrom([], ['aloe'], ['vera', 'h'], ['bed']),
    fc.constantFrom<Partial<PlantFilter>>(
      ...[{}, { tags: ['bed', 'house 2/a'] }, { tagPrefix: 'house' }, { tagPrefix: 'house 1/b' }, { untagged: true }],
    ),
  )
  .map(([words, tagging]) => ({ tags: [], ...tagging, words }))

const look = fc.record({ filter, order: fc.constantFrom(...PLANT_ORDERS), limit: fc.constantFrom(1, 3, 1000) })

/** For a token with a part the store is the plants of the part alone: a store of its own has them, and answers alike. */
function partTests(name: string, open: OpenStore): void {
  test(`${name}: a token with a part reads and writes as in a store that has its part alone`, async (t) => {
    const property = fc.asyncProperty(fc.array(fc.tuple(step, look), TRIED), async (steps) => {
      const all = await Promise.all([undefined, ...PARTS].map(async () => (await open(t)).store))
      const [store, ...own] = all as [Store, ...Store[]]
      try {
        for (const [i, [each, wanted]] of steps.entries()) {
          await write(store, own, each, `action-${i >> 2}-${each.by}`)
          if (i % 4 === 0) for (const [part, alone] of own.entries()) await assertAlike(store, alone, part, wanted)
          if (i % 20 === 19) for (const [part, alone] of own.entries()) await assertNewest(store, alone, part, wanted)
        }
        for (const [part, alone] of own.entries()) await assertWhole(store, alone, part)
      } finally {
        for (const each of all) await each.close()
      }
    })
    await holds(property, { numRuns: RUNS, budget: RUNS * 30_000 })
  })

  test(`${name}: an undo by a token with a part takes no plant across its border`, (t) => undoTest(t, open))
}

const TRIED = { minLength: 100, maxLength: 100, size: 'max' } as const

/** What a write comes to: its result, or the number of its refusal. */
const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (error instanceof AppError) return error.number
    throw error
  })

async function made(store: Store, { kind, id, name, tag }: Step, actor: Actor): Promise<unknown> {
  const one = { id, name, tag }
  const expected = NO_EXPECTATION
  const row = async (mode: 'add' | 'update' | 'delete') => {
    const [result] = await store.importPlants([one], mode, actor)
    return result instanceof AppError ? result.number : result
  }
  switch (kind) {
    case 'create':
      return store.createPlant(one, { mustBeNew: name === 'Rosa' }, actor)
    case 'replace':
      return store.changePlant({ kind: 'replace', plant: one, expected }, actor)
    case 'tag':
      return store.changePlant({ kind: 'update', id, patch: { tag: tag ?? null }, expected }, actor)
    case 'rename':
      return store.changePlant({ kind: 'update', id, patch: { name }, expected }, actor)
    case 'delete':
      return store.changePlant({ kind: 'delete', id, expected }, actor)
    case 'add':
    case 'update':
      return row(kind)
    case 'remove':
      return row('delete')
  }
}

/** Writes to the store as a token does, and to the stores of the parts what that means for them. */
async function write(store: Store, own: readonly Store[], each: Step, name: string): Promise<void> {
  const { by, kind, id, tag } = each
  const actor = ACTORS[by] ?? assert.fail()
  const { part } = actor
  const action = { id: name }
  const isRow = kind === 'add' || kind === 'update' || kind === 'remove'
  const before = await store.getPlant(id)
  const outcome = await outcomeOf(made(storeOf(store, actor), each, isRow ? { ...actor, action } : actor))
  const after = await store.getPlant(id)
  const puts = kind === 'create' || kind === 'replace' || kind === 'add' || kind === 'update'
  const isHidden = before !== undefined && !covers(part, before.tag)
  const leaves = kind === 'tag' && before !== undefined && !covers(part, tag)
  const alone = own[by]
  if (puts && !covers(part, tag)) assert.equal(outcome, 40303)
  else if (isHidden) assert.equal(outcome, puts ? 40901 : kind === 'remove' ? 'unchanged' : 40402)
  else if (leaves) assert.equal(outcome, 40303)
  else if (alone !== undefined) {
    const plain: Actor = { id: actor.id, name: actor.name, ...(isRow ? { action } : {}) }
    assert.deepEqual(outcome, await outcomeOf(made(alone, each, plain)), JSON.stringify({ kind, tag }))
  }
  if (typeof outcome === 'number') assert.deepEqual(after, before)
  for (const [i, other] of own.entries()) {
    if (i === by && !isHidden) continue
    const [was, is] = [before, after].map((one) => (one && covers(PARTS[i], one.tag) ? one : undefined))
    if (isEqual(was, is)) continue
    const plain: Actor = { id: actor.id, name: actor.name, ...(isRow ? { action } : {}) }
    const expected = NO_EXPECTATION
    await other.changePlant(
      is === undefined ? { kind: 'delete', id, expected } : { kind: 'replace', plant: is, expected },
      plain,
    )
  }
}

type Look = typeof look extends fc.Arbitrary<infer Value> ? Value : never

async function assertAlike(
  whole: Store,
  alone: Store,
  i: number,
  { filter: wanted, order, limit }: Look,
): Promise<void> {
  const store = storeOf(whole, ACTORS[i] ?? assert.fail())
  const what = JSON.stringify([PARTS[i], wanted, order])
  assert.deepEqual(await listAll(store, { ...wanted, order }, limit), await listAll(alone, { ...wanted, order }), what)
  assert.equal(await store.countMatches(wanted, 1000), await alone.countMatches(wanted, 1000), what)
  assert.deepEqual(await exportAll(store, wanted, order), await exportAll(alone, wanted, order), what)
  const tags = await alone.listTags({}, 100)
  assert.deepEqual(await store.listTags({}, 100), tags)
  const [first] = tags
  for (const asked of [{ prefix: 'house' }, { words: ['b'] }, { after: first?.tag ?? '' }]) {
    assert.deepEqual(await store.listTags(asked, limit), await alone.listTags(asked, limit), JSON.stringify(asked))
  }
}

/** What is deleted now, and what is stored, by the newest changes. */
async function assertNewest(whole: Store, alone: Store, i: number, { filter: wanted, limit }: Look): Promise<void> {
  const store = storeOf(whole, ACTORS[i] ?? assert.fail())
  for (const request of [{ of: 'deleted', ...wanted } as const, { of: 'stored', ...wanted } as const]) {
    const read = async (of: Store) => (await readNewest(logOf(of), { ...request, limit })).map(known)
    assert.deepEqual(await read(store), await read(alone), JSON.stringify(request))
  }
}

async function assertWhole(whole: Store, alone: Store, i: number): Promise<void> {
  const store = storeOf(whole, ACTORS[i] ?? assert.fail())
  assert.equal(await store.countPlants(), await alone.countPlants())
  const [log, own] = [logOf(store), logOf(alone)]
  for (const request of [{}, { tags: ['bed'] }, { types: ['plant.created'] as const }, { untagged: true }]) {
    const read = async (of: typeof log) => (await readAll(of, { ...request, limit: 3 })).map(known)
    assert.deepEqual(await read(log), await read(own))
  }
  for (let id = -1n; id <= 6n; id++) {
    assert.deepEqual(await store.getPlant(id), await alone.getPlant(id))
    const history = async (of: typeof log, limit: number) => (await of.history(id, undefined, limit)).map(known)
    for (const limit of [2, 1000]) assert.deepEqual(await history(log, limit), await history(own, limit))
  }
  const actions = async (of: Store) => {
    const listed = (await of.actions?.list({}, 1000)) ?? assert.fail()
    const shown = listed.map(({ began: _, ended: __, ...action }) => action)
    return shown.sort((a, b) => (a.id < b.id ? -1 : 1))
  }
  assert.deepEqual(await actions(store), await actions(alone))
  const paged: string[] = []
  for (let after: Action | undefined; ; ) {
    const page = (await store.actions?.list({ after }, 2)) ?? assert.fail()
    paged.push(...page.map(({ id }) => id))
    after = page.at(-1)
    if (after === undefined) break
    assert.ok(paged.length <= 1000, 'the pages of actions have no end')
  }
  assert.deepEqual(
    paged.toSorted(),
    (await actions(alone)).map(({ id }) => id),
  )
}

async function undoTest(t: TestContext, open: OpenStore): Promise<void> {
  const { store } = await open(t)
  const [, , , whole] = ACTORS as [Actor, Actor, Actor, Actor]
  const [volunteer] = ACTORS as [Actor]
  const of = (id: string, actor = whole, undoes?: string): Actor => ({ ...actor, action: { id, undoes } })
  const start = [plant(1n, 'in', 'house 1/a'), plant(2n, 'in', 'house 1/a'), plant(3n, 'out', 'bed'), plant(4n, 'out')]
  await store.importPlants(start, 'add', whole)
  const moved = [plant(1n, 'IN', 'house 1/b'), plant(2n, 'OUT', 'bed'), plant(3n, 'IN', 'house 1/a'), plant(4n, 'OUT')]
  await store.importPlants(moved, 'update', of('moved'))
  await store.importPlants([plant(5n, 'out', 'bed')], 'add', of('elsewhere'))
  const { actions } = storeOf(store, volunteer)
  assert.ok(actions !== undefined)
  const { created, updated, deleted } = (await actions.get('moved')) ?? assert.fail()
  assert.deepEqual({ created, updated, deleted }, { created: 1, updated: 1, deleted: 1 })
  const left = [
    { id: 2n, plant: undefined },
    { id: 3n, plant: plant(3n, 'IN', 'house 1/a') },
  ]
  for (const actor of [volunteer, of('undo', volunteer, 'moved')]) {
    const step = await actions.undo('moved', undefined, actor)
    assert.equal(step.restored, 1)
    const found = step.left.toSorted((a, b) => Number(a.id - b.id))
    assert.deepEqual(found, left)
  }
  assert.deepEqual(await exportAll(store), [plant(1n, 'in', 'house 1/a'), ...moved.slice(1), plant(5n, 'out', 'bed')])
  await assert.rejects(actions.undo('elsewhere', undefined, volunteer), refusal(40402))
  assert.equal(await actions.get('elsewhere'), undefined)
  const { entries } = await logOf(storeOf(store, volunteer)).read({ ...FIRST, action: 'undo' })
  const afters = entries.map(({ plant: after }) => after)
  assert.deepEqual(afters, [plant(1n, 'in', 'house 1/a')])
}

partTests('SQLite', (t) => openSqlite(t, { changesKeep: 86_400_000 }))
partTests('PostgreSQL', openPostgres)
