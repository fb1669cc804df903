import assert from 'node:assert/strict'
import type { Action, ActionLog, LeftPlant } from '../src/domain/actions.ts'
import { AppError } from '../src/domain/errors.ts'
import type { NewPlant } from '../src/domain/plant.ts'
import type { Store } from '../src/domain/store.ts'
import type { ActionName, Actor } from '../src/domain/token.ts'
import { TESTER } from './support/actor.ts'
import { aloe, fern, logOf, moss, OTHER, readAll, remove, replace } from './support/change-entries.ts'
import { createPlant } from './support/create-plant.ts'
import { plant, refusal, type Suite } from './support/store-under-test.ts'

const lenient = { mustBeNew: false }

const by = (id: string, actor = TESTER, more: Partial<ActionName> = {}): Actor => ({
  ...actor,
  action: { id, ...more },
})

const actionsOf = ({ actions }: Store): ActionLog => actions ?? assert.fail('the store has no actions')

/** The parts of an action that a test knows before. */
const known = ({ began, ended, ...action }: Action) => {
  assert.ok(ended >= began)
  return action
}

const action = (id: string, created: number, updated = 0, deleted = 0, more: Partial<Action> = {}) => ({
  id,
  title: undefined,
  token: TESTER.id,
  created,
  updated,
  deleted,
  undoes: undefined,
  undoneBy: undefined,
  ...more,
})

/** Undoes an action to its end. Without an action of the actor, it tries only. */
async function undo(store: Store, id: string, actor: Actor): Promise<{ restored: number; left: LeftPlant[] }> {
  let restored = 0
  const left: LeftPlant[] = []
  for (let from: string | undefined; ; ) {
    const step = await actionsOf(store).undo(id, from, actor)
    restored += step.restored
    left.push(...step.left)
    if (step.next === undefined) return { restored, left }
    from = step.next
  }
}

const undoing = (id: string, undoes: string): Actor => by(id, TESTER, { undoes })

const many = (count: number, name: string): NewPlant[] =>
  Array.from({ length: count }, (_, i) => plant(BigInt(i), `${name} ${i}`, i % 3 === 0 ? name : undefined))

/** The specification of ActionLog (src/domain/actions.ts) as tests. */
export function actionTests(suite: Suite): void {
  listTests(suite)
  undoTests(suite)
}

function listTests(suite: Suite): void {
  suite('changes with one action are one action, with its title and counts, newest first', async ({ store }) => {
    await store.importPlants([aloe, plant(2n), plant(3n)], 'add', by('first', TESTER, { title: 'Liste größer.csv' }))
    await replace(store, plant(4n))
    await replace(store, fern, by('second', OTHER))
    await store.importPlants([plant(3n, 'new'), plant(5n)], 'update', by('first', TESTER, { title: 'ignored' }))
    await store.changePlant({ kind: 'delete', id: 2n, expected: {} }, by('first'))
    const title = 'Liste größer.csv'
    const all = [action('second', 0, 1, 0, { token: OTHER.id }), action('first', 4, 1, 1, { title })]
    assert.deepEqual((await actionsOf(store).list({}, 10)).map(known), all)
    assert.deepEqual((await actionsOf(store).list({ token: TESTER.id }, 10)).map(known), all.slice(1))
    const [newest] = await actionsOf(store).list({}, 1)
    assert.deepEqual((await actionsOf(store).list({ after: newest }, 10)).map(known), all.slice(1))
    assert.deepEqual(await actionsOf(store).list({ since: Date.now() + 60_000 }, 10), [])
    const { began = 0 } = (await actionsOf(store).get('first')) ?? {}
    const since = await actionsOf(store).list({ since: began + 1, token: TESTER.id }, 10)
    assert.deepEqual(since, [], 'an action that began before, and goes on')
    assert.deepEqual(known((await actionsOf(store).get('first')) ?? assert.fail()), all[1])
    assert.equal(await actionsOf(store).get('none'), undefined)
  })

  suite('entries name their action, and a read of one action has its entries alone', async ({ store }) => {
    await store.importPlants([aloe, plant(2n)], 'add', by('one'))
    await createPlant(store, plant(3n))
    await Promise.all(
      [4n, 5n, 6n].map((id) => store.createPlant(plant(id), lenient, by(id % 2n === 0n ? 'one' : 'two'))),
    )
    await replace(store, fern, by('one'))
    const entries = await readAll(logOf(store))
    const names = Object.fromEntries(entries.map((entry) => [`${entry.type} ${entry.plant?.id}`, entry.action]))
    assert.deepEqual(names, {
      'plant.created 1': 'one',
      'plant.created 2': 'one',
      'plant.created 3': undefined,
      'plant.created 4': 'one',
      'plant.created 5': 'two',
      'plant.created 6': 'one',
      'plant.updated 1': 'one',
    })
    const actions = (await logOf(store).history(1n, undefined, 9)).map((entry) => entry.action)
    assert.deepEqual(actions, ['one', 'one'])
    for (const limit of [1, 2, 1000]) {
      const ofOne = await readAll(logOf(store), { action: 'one', limit })
      const expected = entries.filter((entry) => entry.action === 'one')
      assert.deepEqual(ofOne, expected)
    }
    assert.deepEqual(await readAll(logOf(store), { action: 'none' }), [])
    const end = await logOf(store).end()
    assert.deepEqual(await readAll(logOf(store), { action: 'one', after: end }), [])
  })

  suite('an action id of another token is refused, and changes nothing', async ({ store, plants }) => {
    await store.createPlant(aloe, lenient, by('mine'))
    await assert.rejects(store.createPlant(plant(2n), lenient, by('mine', OTHER)), refusal(40907))
    await assert.rejects(replace(store, fern, by('mine', OTHER)), refusal(40907))
    const [refused] = await store.importPlants([plant(3n)], 'add', by('mine', OTHER))
    assert.ok(refusal(40907)(refused))
    await assert.rejects(store.createPlant(plant(2n), lenient, undoing('mine', 'other')), refusal(40907))
    assert.deepEqual(await plants(), [aloe])
  })

  suite('a write that changes nothing makes no action', async ({ store }) => {
    await createPlant(store, aloe)
    await store.createPlant(aloe, lenient, by('nothing'))
    await store.importPlants([aloe, fern], 'add', by('nothing'))
    assert.deepEqual(await actionsOf(store).list({}, 10), [])
    assert.equal(await actionsOf(store).get('nothing'), undefined)
    const first = { ...OTHER, action: { id: 'nothing', title: 'Its first change' } }
    await replace(store, plant(aloe.id, 'changed'), first)
    const { title, token } = (await actionsOf(store).get('nothing')) ?? {}
    assert.deepEqual([title, token], ['Its first change', OTHER.id], 'nothing is kept of writes that changed nothing')
  })

  suite('of two tokens that use an id at once, one has the action, one changes nothing', async ({ store, plants }) => {
    await store.importPlants([plant(1n), plant(2n)], 'add', TESTER)
    for (let i = 0; i < 10; i++) {
      const name = `round ${i}`
      const writes = [
        replace(store, plant(1n, name), by(`action${i}`)),
        store.createPlant(plant(BigInt(10 + i)), lenient, by(`action${i}`, OTHER)),
        store.importPlants([plant(2n, name)], 'update', by(`action${i}`)).then(([result]) => {
          if (result instanceof AppError) throw result
        }),
      ]
      const outcomes = (await Promise.allSettled(writes)).map(({ status }) => status === 'fulfilled')
      const { token } = (await actionsOf(store).get(`action${i}`)) ?? {}
      const isMine = token === TESTER.id
      assert.deepEqual(outcomes, [isMine, !isMine, isMine])
      const ids = (await plants()).filter((stored) => stored.name === name || stored.id === BigInt(10 + i))
      const found = ids.map(({ id }) => id)
      assert.deepEqual(found, isMine ? [1n, 2n] : [BigInt(10 + i)])
    }
  })
}

function undoTests(suite: Suite): void {
  suite('an undo makes plants what they were, is an action itself, and can be undone', async ({ store, plants }) => {
    await store.importPlants([plant(1n, 'stays as it was', 'x'), plant(2n), plant(3n)], 'add', TESTER)
    const before = await plants()
    const import_ = by('import')
    await store.importPlants([plant(1n, 'changed'), plant(4n), plant(-5n)], 'update', import_)
    await replace(store, plant(2n, 'twice'), import_)
    await replace(store, plant(2n, 'again', 'z'), import_)
    await store.changePlant({ kind: 'delete', id: 3n, expected: {} }, import_)
    await store.changePlant({ kind: 'replace', plant: plant(3n, 'new'), expected: {} }, import_)
    const after = await plants()

    assert.deepEqual(await undo(store, 'import', TESTER), { restored: 5, left: [] })
    assert.deepEqual(await plants(), after, 'a dry run changes nothing')
    assert.deepEqual(await undo(store, 'import', undoing('back', 'import')), { restored: 5, left: [] })
    assert.deepEqual(await plants(), before)
    const undone = await actionsOf(store).get('import')
    assert.equal(undone?.undoneBy, 'back')
    assert.equal((await actionsOf(store).get('back'))?.undoes, 'import')

    assert.deepEqual(await undo(store, 'back', undoing('redo', 'back')), { restored: 5, left: [] })
    assert.deepEqual(await plants(), after)
  })

  suite('an undo changes each plant once, however often the action has changed it', async ({ store }) => {
    await store.importPlants([plant(1n, 'first')], 'add', TESTER)
    for (const name of ['second', 'third', 'fourth']) await replace(store, plant(1n, name), by('steps'))
    await store.changePlant({ kind: 'delete', id: 1n, expected: {} }, by('steps'))
    assert.deepEqual(await undo(store, 'steps', undoing('back', 'steps')), { restored: 1, left: [] })
    const { created, updated, deleted } = (await actionsOf(store).get('back')) ?? {}
    assert.deepEqual([created, updated, deleted], [1, 0, 0])
    const [newest] = await logOf(store).history(1n, undefined, 1)
    assert.deepEqual([newest?.type, newest?.plant], ['plant.created', plant(1n, 'first')])
  })

  suite('an undo that changes no plant is no action, and the other one is not undone', async ({ store }) => {
    await store.importPlants([plant(1n), plant(2n)], 'add', by('import'))
    await replace(store, plant(1n, 'changed'), OTHER)
    await undo(store, 'import', undoing('first', 'import'))
    assert.deepEqual((await undo(store, 'import', undoing('none', 'import'))).restored, 0)
    assert.equal(await actionsOf(store).get('none'), undefined)
    assert.equal((await actionsOf(store).get('import'))?.undoneBy, 'first')
    const found = (await actionsOf(store).list({}, 10)).map(({ id, undoneBy }) => ({ id, undoneBy }))
    assert.deepEqual(found, [
      { id: 'first', undoneBy: undefined },
      { id: 'import', undoneBy: 'first' },
    ])
  })

  suite('a plant that others changed since stays, even if it is as the action left it', async ({ store, plants }) => {
    await store.importPlants([plant(1n), plant(2n), plant(3n, 'old'), plant(4n, 'old')], 'add', TESTER)
    const work = by('work')
    await store.changePlant({ kind: 'delete', id: 1n, expected: {} }, work)
    await store.changePlant({ kind: 'delete', id: 2n, expected: {} }, work)
    await store.importPlants([plant(3n, 'new'), plant(4n, 'new'), plant(5n), plant(6n)], 'update', work)
    await createPlant(store, plant(1n, 'recreated'))
    await replace(store, plant(2n), OTHER)
    await remove(store, 2n)
    await replace(store, plant(3n, 'else'), OTHER)
    await replace(store, plant(3n, 'new'), OTHER)
    await remove(store, 5n)
    const left = [
      { id: 1n, plant: plant(1n, 'recreated') },
      { id: 2n, plant: undefined },
      { id: 3n, plant: plant(3n, 'new') },
      { id: 5n, plant: undefined },
    ]
    const byId = (some: readonly LeftPlant[]) => some.toSorted((a, b) => Number(a.id - b.id))
    for (const actor of [TESTER, undoing('back', 'work'), undoing('back', 'work')]) {
      const result = await undo(store, 'work', actor)
      assert.deepEqual({ restored: result.restored, left: byId(result.left) }, { restored: 2, left })
    }
    assert.deepEqual(await plants(), [plant(1n, 'recreated'), plant(3n, 'new'), plant(4n, 'old')])
  })

  suite('what was undone since counts as not done, at any depth, until it is redone', async ({ store, plants }) => {
    await store.importPlants([plant(1n, 'old')], 'add', TESTER)
    const before = await plants()
    await store.importPlants([plant(1n, 'a'), plant(2n), plant(3n)], 'update', by('a'))
    await store.importPlants([plant(1n, 'x'), plant(2n, 'x')], 'update', by('x'))
    await store.importPlants([plant(1n, 'y')], 'update', by('y'))
    await store.importPlants([plant(1n, 'yy')], 'update', by('y'))
    await store.changePlant({ kind: 'delete', id: 2n, expected: {} }, by('y'))
    const left = [
      { id: 1n, plant: plant(1n, 'x') },
      { id: 2n, plant: plant(2n, 'x') },
    ]
    const dry = async () => {
      const { restored, left } = await undo(store, 'a', TESTER)
      return { restored, left: left.toSorted((a, b) => Number(a.id - b.id)) }
    }
    await undo(store, 'y', undoing('not y', 'y'))
    assert.deepEqual(await dry(), { restored: 1, left }, 'x holds')
    await undo(store, 'x', undoing('not x', 'x'))
    assert.deepEqual(await dry(), { restored: 3, left: [] })
    await undo(store, 'not x', undoing('x again', 'not x'))
    assert.deepEqual(await dry(), { restored: 1, left }, 'x holds again')
    await undo(store, 'x again', undoing('not x again', 'x again'))
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await undo(store, 'a', undoing('not a', 'a')), { restored: 3, left: [] })
      assert.deepEqual(await plants(), before)
    }
    await undo(store, 'not a', undoing('a again', 'not a'))
    assert.deepEqual(await undo(store, 'a', undoing('not a again', 'a')), { restored: 3, left: [] })
    assert.deepEqual(await plants(), before)
  })

  suite('an undo of thousands goes on after any step, and then changes nothing', async ({ store, plants, reopen }) => {
    await store.importPlants(many(2000, 'old'), 'add', TESTER)
    const before = await plants()
    for (let i = 0; i < 3; i++) await store.importPlants(many(2500, `new ${i}`), 'update', by('big'))
    const back = undoing('back', 'big')
    const first = await actionsOf(store).undo('big', undefined, back)
    assert.ok(first.next !== undefined && first.restored < 2500)
    await actionsOf(store).undo('big', first.next, back)
    const again = await reopen()
    assert.deepEqual(await undo(again, 'big', back), { restored: 2500, left: [] })
    assert.deepEqual(await plants(), before)
    const end = await logOf(again).end()
    assert.deepEqual(await undo(again, 'big', back), { restored: 2500, left: [] })
    assert.equal(await logOf(again).end(), end)
  })

  suite('an undo also leaves what came before a change of others, and names it once', async ({ store, plants }) => {
    const work = by('work')
    await store.importPlants([plant(1n, 'a'), plant(2n, 'a')], 'add', work)
    await store.importPlants([plant(1n, 'b'), plant(2n, 'b')], 'update', work)
    await store.importPlants([plant(1n, 'else'), plant(2n, 'else')], 'update', OTHER)
    // So many that another step of the undo reaches the changes before them.
    const between = Array.from({ length: 1500 }, (_, i) => plant(BigInt(10 + i)))
    await store.importPlants(between, 'add', work)
    await store.importPlants([plant(1n, 'c'), plant(2n, 'c')], 'update', work)
    await replace(store, plant(2n, 'last'), OTHER)
    const left = [
      { id: 1n, plant: plant(1n, 'else') },
      { id: 2n, plant: plant(2n, 'last') },
    ]
    for (let i = 0; i < 2; i++) {
      const report = await undo(store, 'work', undoing('back', 'work'))
      assert.deepEqual(report, { restored: 1 + between.length, left: report.left })
      const shown = report.left.toSorted((a, b) => Number(a.id - b.id))
      assert.deepEqual(shown, left)
      const expected = left.map((each) => each.plant)
      assert.deepEqual(await plants(), expected)
    }
  })

  suite('a repeated undo restores what is free by now, and what the action did since', async ({ store, plants }) => {
    await store.importPlants([plant(1n, 'old'), plant(2n, 'old')], 'add', TESTER)
    await store.importPlants([plant(1n, 'new'), plant(2n, 'new')], 'update', by('work'))
    await store.importPlants([plant(1n, 'else')], 'update', by('else'))
    const left = [{ id: 1n, plant: plant(1n, 'else') }]
    assert.deepEqual(await undo(store, 'work', undoing('back', 'work')), { restored: 1, left })
    await undo(store, 'else', undoing('not else', 'else'))
    await store.importPlants([plant(3n, 'late')], 'add', by('work'))
    for (let i = 0; i < 2; i++) {
      assert.deepEqual(await undo(store, 'work', undoing('back', 'work')), { restored: 3, left: [] })
      assert.deepEqual(await plants(), [plant(1n, 'old'), plant(2n, 'old')])
    }
  })

  suite('an undo that begins again takes back all that the action did since', async ({ store, plants }) => {
    const back = undoing('back', 'work')
    await store.importPlants(many(1, 'first'), 'add', by('work'))
    await undo(store, 'work', back)
    // So many that the undo comes to the creates in a step behind that of the changes.
    await store.importPlants(many(1500, 'made'), 'add', by('work'))
    await store.importPlants(many(1500, 'changed'), 'update', by('work'))
    assert.deepEqual(await undo(store, 'work', back), { restored: 1501, left: [] })
    assert.deepEqual(await plants(), [])
    const end = await logOf(store).end()
    assert.deepEqual(await undo(store, 'work', back), { restored: 1501, left: [] })
    assert.equal(await logOf(store).end(), end)
  })

  suite('an undo in steps takes back what cancels itself out in one of them', async ({ store, plants }) => {
    // Steps of the engines end between the deletes of these plants and their first creates.
    for (const [i, count] of [130, 600].entries()) {
      const [work, back] = [by(`work${i}`), undoing(`back${i}`, `work${i}`)]
      const made = many(count, 'made')
      for (const mode of ['add', 'delete', 'add'] as const) await store.importPlants(made, mode, work)
      for (let round = 0; round < 2; round++) {
        assert.deepEqual(await undo(store, `work${i}`, back), { restored: count, left: [] })
        assert.deepEqual(await plants(), [])
      }
      await store.importPlants(made, 'add', work)
      await undo(store, `work${i}`, back)
      assert.deepEqual(await plants(), [])
    }
  })

  suite('an undo of what is not there is refused', async ({ store }) => {
    await assert.rejects(undo(store, 'none', undoing('back', 'none')), refusal(40402))
    await assert.rejects(undo(store, 'none', TESTER), refusal(40402))
    await replace(store, moss, by('mine', OTHER))
    await replace(store, plant(8n), by('back', OTHER))
    await assert.rejects(undo(store, 'mine', undoing('back', 'mine')), refusal(40907))
  })
}
