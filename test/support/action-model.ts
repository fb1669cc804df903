import assert from 'node:assert/strict'
import { MOST_FOLLOWERS } from '../../src/domain/actions.ts'
import type { ChangeEntry } from '../../src/domain/changes.ts'
import { isEqual, type NewPlant } from '../../src/domain/plant.ts'

export type Plants = Map<bigint, NewPlant>

type State = NewPlant | undefined

interface Change {
  readonly before: State
  readonly after: State
  /** The id of its action. */
  readonly action: string | undefined
}

export interface KnownAction {
  readonly id: string
  readonly title: string | undefined
  readonly undoes: string | undefined
  created: number
  updated: number
  deleted: number
}

/** The names that writes of a test may have. */
export type ActionNames = Pick<KnownAction, 'id'> & Partial<Pick<KnownAction, 'title' | 'undoes'>>

/** What an undo is to do with the plants of an action. */
export interface UndoPlan {
  readonly restored: number
  /** Plants that may count twice: the action has changed them again after its undo, which now begins again. */
  readonly again: number
  /** The ids of plants that stay. */
  readonly left: readonly bigint[]
  /** The states on the way back of each plant that the undo writes, the last one in the end. */
  readonly ways: ReadonlyMap<bigint, readonly State[]>
}

/** A change as those after it see it: one that undoes holds in place of what it takes back. */
interface Standing {
  readonly action: string | undefined
  readonly undone: Standing | undefined
  readonly below: Standing | undefined
}

/** The expected plants of a store, with all of their changes and the actions of these. */
export class KnownPlants {
  readonly plants: Plants = new Map()
  readonly changes = new Map<bigint, Change[]>()
  readonly actions = new Map<string, KnownAction>()

  /** Writes a plant, or deletes it. What changes nothing leaves no trace. */
  write(id: bigint, after: State, name?: ActionNames): void {
    const before = this.plants.get(id)
    if (isEqual(before, after)) return
    if (after === undefined) this.plants.delete(id)
    else this.plants.set(id, after)
    const changes = this.changes.get(id) ?? []
    changes.push({ before, after, action: name?.id })
    this.changes.set(id, changes)
    if (name === undefined) return
    const { id: key, title, undoes } = name
    const action = this.actions.get(key) ?? { id: key, title, undoes, created: 0, updated: 0, deleted: 0 }
    action[before === undefined ? 'created' : after === undefined ? 'deleted' : 'updated']++
    this.actions.set(key, action)
  }

  /** The newest action that undoes this one; several that began in one instant are all such. */
  undoneBy(id: string): string[] {
    return [...this.actions.values()].filter(({ undoes }) => undoes === id).map((undo) => undo.id)
  }

  /** @param hasStopped whether the undo has stopped on the way back, maybe between two changes of a plant */
  plan(action: string, undo: string | undefined, hasStopped = false): UndoPlan {
    const left: bigint[] = []
    const ways = new Map<bigint, readonly State[]>()
    let [restored, again] = [0, 0]
    for (const [id, changes] of this.changes) {
      const way: State[] = []
      let isNew = false
      let isLeft = false
      let isCounted = false
      for (let i = changes.length - 1; i >= 0 && !isLeft; i--) {
        if (changes[i]?.action !== action) continue
        const decision = this.#decision(changes, i, { action, undo, isUnderWay: way.length > 0 })
        if (decision === 'restore' || decision === 'restored') {
          if (isCounted) again++
          else restored++
          isCounted = true
        }
        if (decision === 'leave') isLeft = true
        if (decision === 'restore') isNew = true
        if (decision === 'restore' || decision === 'restore further') way.push(changes[i]?.before)
      }
      if (isLeft) left.push(id)
      // An undo that has been here, and not stopped on the way, has nothing left to do.
      const isDone = !isNew && !hasStopped && isEqual(way.at(-1), this.plants.get(id))
      if (way.length > 0 && !isDone) ways.set(id, way)
    }
    return { restored, again, left: left.sort(byNumber), ways }
  }

  /**
   * Takes in what an undo has written, as its entries say.
   *
   * @param isWhole whether it has come to its end
   */
  learn(undo: ActionNames, { ways }: UndoPlan, entries: readonly ChangeEntry[], isWhole = true): void {
    const rests = new Map(Array.from(ways, ([id, way]) => [id, [...way]]))
    for (const { before, plant, action } of entries) {
      const id = (plant ?? before)?.id ?? assert.fail()
      assert.equal(action, undo.id)
      assert.deepEqual(before, this.plants.get(id), 'an undo changes a plant from what it is')
      const rest = rests.get(id) ?? assert.fail(`the undo changes ${id}, which it is to leave`)
      const at = rest.findIndex((state) => isEqual(state, plant))
      assert.ok(at >= 0, `the undo makes ${id} what it was not before the action`)
      rest.splice(0, at + 1)
      this.write(id, plant, undo)
    }
    if (!isWhole) return
    for (const [id, way] of ways) assert.deepEqual(this.plants.get(id), way.at(-1), `the undo leaves ${id}`)
  }

  /** What an undo does with a change of its action, by what follows in the log of the plant. */
  #decision(changes: readonly Change[], at: number, { action, undo, isUnderWay }: Undoing) {
    const following = changes.slice(at + 1)
    const [next] = following
    const isOfUndo = (change: Change | undefined) => undo !== undefined && change?.action === undo
    const earlier = () => (isUnderWay || isOfUndo(changes.at(-1)) ? 'restore further' : 'earlier')
    if (next === undefined) return 'restore'
    if (isOfUndo(next)) return 'restored'
    if (next.action === action) return earlier()
    if (next.action !== undefined && following.length >= MOST_FOLLOWERS) return 'leave'
    const ofUndo = following.findIndex(isOfUndo)
    const holding = this.#firstHolding(ofUndo < 0 ? following : following.slice(0, ofUndo))
    if (holding === undefined) return ofUndo < 0 ? 'restore' : 'restored'
    return holding.action === action ? earlier() : 'leave'
  }

  /** The first change of a plant that nothing has undone, found by doing and undoing all in their order. */
  #firstHolding(changes: readonly Change[]): Standing | undefined {
    let top: Standing | undefined
    for (const [i, { action }] of changes.entries()) {
      const isSame = action !== undefined && action === changes[i - 1]?.action
      if (isSame) continue
      const undoes = this.actions.get(action ?? '')?.undoes
      let undone = top
      while (undoes !== undefined && undone !== undefined && undone.action !== undoes) undone = belowUndo(undone)
      top = { action, undone: undoes === undefined ? undefined : undone, below: top }
    }
    let first: Standing | undefined
    for (let each = top; each !== undefined; ) {
      if (each.undone !== undefined) each = each.undone.below
      else [first, each] = [each, each.below]
    }
    return first
  }
}

/** What stands where an undo has taken something back; nothing where a change on its own ends the look. */
const belowUndo = ({ undone }: Standing): Standing | undefined => undone?.below

const byNumber = (a: bigint, b: bigint): number => (a < b ? -1 : 1)

interface Undoing {
  readonly action: string
  readonly undo: string | undefined
  /** Whether the undo has just restored the plant after a later change. */
  readonly isUnderWay: boolean
}
