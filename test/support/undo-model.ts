import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Action, ActionLog, LeftPlant, UndoStep } from '../../src/domain/actions.ts'
import type { ChangeEntry } from '../../src/domain/changes.ts'
import type { Store } from '../../src/domain/store.ts'
import type { ActionName, Actor } from '../../src/domain/token.ts'
import type { KnownPlants, UndoPlan } from './action-model.ts'
import { TESTER } from './actor.ts'
import { logOf, OTHER, readAll } from './change-entries.ts'
import { refusal } from './store-under-test.ts'

export interface Undo {
  /** Which of the known actions, by its place among them. */
  readonly target: number
  /** Which undo of it, so that some repeat an earlier one; undefined for a dry run. */
  readonly which: 0 | 1 | undefined
}

export const undone = {
  target: fc.nat(30),
  which: fc.constantFrom<Undo['which'][]>(undefined, 0, 0, 1),
}

/** The action to undo: one with this beginning of its id, sometimes one that is not there. */
function targetOf(known: KnownPlants, prefix: string, target: number): string {
  const ids = [...known.actions.keys()].filter((id) => id.startsWith(prefix)).sort()
  return ids[target % (ids.length + 1)] ?? `${prefix}none`
}

/** An undo that has gone to its end is not repeated once its action has gone on. */
function nameOf(known: KnownPlants, id: string, which: 0 | 1): ActionName {
  const { created = 0, updated = 0, deleted = 0 } = known.actions.get(id) ?? {}
  return { id: `${id}-u${which}-${created + updated + deleted}`, undoes: id }
}

interface Report {
  restored: number
  left: LeftPlant[]
}

const add = (report: Report, { restored, left }: UndoStep): void => {
  report.restored += restored
  report.left.push(...left)
}

/** Makes the steps of an undo from one on. */
async function walk(log: ActionLog, id: string, actor: Actor, report: Report, first?: string): Promise<void> {
  for (let from = first; ; ) {
    const step = await log.undo(id, from, actor)
    add(report, step)
    if (step.next === undefined) return
    from = step.next
  }
}

/** Undoes one of the actions whose ids begin so, and asserts the report, what it has done, and what the log says. */
export async function undo(store: Store, known: KnownPlants, prefix: string, { target, which }: Undo): Promise<void> {
  const log = store.actions
  if (log === undefined) return
  const id = targetOf(known, prefix, target)
  const name = which === undefined ? undefined : nameOf(known, id, which)
  const actor = name === undefined ? TESTER : { ...TESTER, action: name }
  if (!known.actions.has(id)) return assert.rejects(log.undo(id, undefined, actor), refusal(40402))
  const plan = known.plan(id, name?.id)
  const report: Report = { restored: 0, left: [] }
  await walk(log, id, actor, report)
  if (name !== undefined) await learn(store, known, name, plan)
  assertReport(report, plan, known)
}

/** What comes between the first step of an undo and its other ones. */
export type Break = 'goes on' | 'begins again' | 'begins again after changes'

/** The same with a break after the first step, after which the store may be another one. */
export async function brokenUndo(
  real: { readonly store: Store },
  known: KnownPlants,
  { target, which = 0 }: Undo,
  how: Break,
  meanwhile: () => Promise<void>,
): Promise<void> {
  if (real.store.actions === undefined) return
  const id = targetOf(known, '', target)
  const name = nameOf(known, id, which)
  const actor = { ...TESTER, action: name }
  if (!known.actions.has(id)) return
  let plan = known.plan(id, name.id)
  const report: Report = { restored: 0, left: [] }
  const first = await real.store.actions.undo(id, undefined, actor)
  await learn(real.store, known, name, plan, first.next === undefined)
  await meanwhile()
  if (how === 'goes on') add(report, first)
  else plan = known.plan(id, name.id, true)
  const { actions } = real.store
  if (how !== 'goes on' || first.next !== undefined)
    await walk(actions, id, actor, report, how === 'goes on' ? first.next : undefined)
  await learn(real.store, known, name, plan)
  assertReport(report, plan, known)
}

/** Takes in what an undo has written since. */
async function learn(store: Store, known: KnownPlants, name: ActionName, plan: UndoPlan, isWhole = true) {
  const { created = 0, updated = 0, deleted = 0 } = known.actions.get(name.id) ?? {}
  const entries = await readAll(logOf(store), { action: name.id })
  known.learn(name, plan, entries.slice(created + updated + deleted), isWhole)
}

const byId = (a: LeftPlant, b: LeftPlant): number => (a.id < b.id ? -1 : 1)

function assertReport({ restored, left }: Report, plan: UndoPlan, { plants }: KnownPlants): void {
  const expected = plan.left.map((id) => ({ id, plant: plants.get(id) }))
  assert.deepEqual(left.sort(byId), expected)
  assert.ok(restored >= plan.restored && restored <= plan.restored + plan.again, `${restored}, not ${plan.restored}`)
}

/** Another token may not use the id of an action, and no undo may be of two actions. */
export async function assertOwned(store: Store, known: KnownPlants, target: number): Promise<void> {
  const id = targetOf(known, '', target)
  if (store.actions === undefined || !known.actions.has(id)) return
  const taken = { ...OTHER, action: { id, undoes: known.actions.get(id)?.undoes } }
  const change = { kind: 'delete', id: 0n, expected: {} } as const
  await assert.rejects(store.changePlant(change, taken), refusal(40907))
  const results = await store.importPlants([{ id: 0n, name: 'taken', tag: undefined }], 'update', taken)
  for (const result of results) refusal(40907)(result)
  const another = { ...TESTER, action: { id, undoes: 'another' } }
  await assert.rejects(store.changePlant(change, another), refusal(40907))
  await assert.rejects(store.actions.undo(id, undefined, another), refusal(40907))
}

/** Reads all actions in pages. */
async function listAll(log: ActionLog, limit: number, token?: string): Promise<Action[]> {
  const all: Action[] = []
  for (let after: Action | undefined; ; ) {
    const page = await log.list({ after, token }, limit)
    all.push(...page)
    if (page.length === 0) return all
    after = page.at(-1)
  }
}

/** Asserts that the log has exactly the known actions, and their changes. */
export async function assertActions(store: Store, known: KnownPlants, limit = 3): Promise<void> {
  const log = store.actions
  if (log === undefined) return
  const listed = await listAll(log, limit)
  const sorted = listed.toSorted((a, b) => b.began - a.began || (a.id < b.id ? 1 : -1))
  assert.deepEqual(listed, sorted, 'the newest actions come first')
  assert.deepEqual(await listAll(log, 1000, TESTER.id), listed)
  assert.deepEqual(await log.list({ token: OTHER.id }, 9), [])
  const shown = listed.map(({ began, ended, undoneBy, ...action }) => {
    assert.ok(began <= ended)
    const undos = known.undoneBy(action.id)
    assert.equal(undoneBy !== undefined, undos.length > 0, `${action.id} is undone by ${undoneBy}`)
    if (undoneBy !== undefined) assert.ok(undos.includes(undoneBy))
    return action
  })
  const expected = [...known.actions.values()].map((action) => ({ ...action, token: TESTER.id }))
  const byText = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1)
  assert.deepEqual(shown.sort(byText), expected.sort(byText))
  const all = await readAll(logOf(store))
  const ofPlants = Map.groupBy(all, idOf)
  const logged = Array.from(ofPlants, ([id, entries]): [unknown, object[]] => [
    id,
    entries.map(({ before, plant, action }) => ({ before, after: plant, action })),
  ])
  assert.deepEqual(new Map(logged), known.changes)
  for (const { id } of listed) {
    const wanted = listed.find((action) => action.id === id)
    assert.deepEqual(await log.get(id), wanted)
    const ofAction = await readAll(logOf(store), { action: id, limit })
    const own = all.filter(({ action }) => action === id)
    assert.deepEqual(Map.groupBy(ofAction, idOf), Map.groupBy(own, idOf))
    assert.equal(ofAction.length, own.length)
  }
}

const idOf = ({ plant, before }: ChangeEntry): bigint | undefined => (plant ?? before)?.id
