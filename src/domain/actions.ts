import { AppError } from './errors.ts'
import { covers, type Part } from './part.ts'
import { isEqual, type NewPlant } from './plant.ts'
import type { ActionName, Actor } from './token.ts'

/** As the contract has it (`Plantstore-Action`). */
export const ACTION_ID = /^[A-Za-z0-9_-]{1,64}$/
export const MAX_TITLE = 200

/** An action that has changed plants. */
export interface Action extends ActionName {
  /** The id of the actor (Actor.id). */
  readonly token: string
  /** Of its first and its last change: milliseconds since 1970. */
  readonly began: number
  readonly ended: number
  /** Changes of each kind. */
  readonly created: number
  readonly updated: number
  readonly deleted: number
  /** The id of the newest action that undoes this one. */
  readonly undoneBy: string | undefined
}

export interface ActionQuery {
  /** The id of an actor; undefined for all. */
  readonly token?: string | undefined
  /** Milliseconds since 1970: actions that began before are left out. */
  readonly since?: number | undefined
  /** The action after which the page begins. */
  readonly after?: Pick<Action, 'began' | 'id'> | undefined
}

/** A plant that an undo leaves, because something else has changed it since. */
export interface LeftPlant {
  readonly id: bigint
  /** The plant as it is now; undefined where it is gone. */
  readonly plant: NewPlant | undefined
}

/** What one step of an undo has done. */
export interface UndoStep {
  /** Plants that are, or would be, as they were before the action. */
  readonly restored: number
  readonly left: readonly LeftPlant[]
  /** The place at which the next step goes on; undefined after the last. */
  readonly next: string | undefined
}

/** Actions in the log of changes. An action is there as long as the log has one of its changes. */
export interface ActionLog {
  /** Returns at most `limit` actions, the one that began last first. */
  list(query: ActionQuery, limit: number, signal?: AbortSignal): Promise<readonly Action[]>

  get(id: string, signal?: AbortSignal): Promise<Action | undefined>

  /**
   * Makes plants what they were before an action, from its last change back to its first, in steps of one commit each.
   * A plant that anything else has changed since stays, even if it has come back to the state that the action left; a
   * later action that was undone is as if it had not been. What `actor.action` has undone already counts as restored, so
   * that an undo may begin again after a lost answer.
   *
   * @param from the `next` of the step before; undefined for the first
   * @param actor with the action that undoes; without one, nothing is written
   * @param signal ends the look for an action that a part may have, with the signal's reason; a step ends by itself
   * @throws AppError 40402 when there is no such action, 41002 when the log has let a part of it go; nothing changes
   */
  undo(id: string, from: string | undefined, actor: Actor, signal?: AbortSignal): Promise<UndoStep>
}

export const noAction = (id: string): AppError => new AppError(40402, `there is no action ${id}`)

export const actionGone = (id: string): AppError =>
  new AppError(41002, `the log of changes has no longer all changes of the action ${id}; nothing was changed`)

/**
 * @param stored what the log has under the id of the action
 * @throws AppError 40907 when another token has used the id, or it undoes another action
 */
export function mustOwnAction(
  { undoes }: ActionName,
  actor: string,
  stored: { readonly token: unknown; readonly undoes?: unknown },
): void {
  if (stored.token === actor && stored.undoes === undoes) return
  const what = stored.token === actor ? 'this token has used the action id for something else' : TAKEN
  throw new AppError(40907, `${what}; nothing was changed, choose another id`)
}

const TAKEN = 'another token has used the action id'

/** A change that follows another one of its plant. */
export interface Follower {
  /** null for a change without one. */
  readonly action: string | null
  /** The action that its action undoes. */
  readonly undoes: string | undefined
}

/** Followers that an undo looks at. After more of them, their plant stays. */
export const MOST_FOLLOWERS = 100

/** A plant before and after a change of an action. */
interface Swapped {
  readonly before: NewPlant | undefined
  readonly after: NewPlant | undefined
}

/** The changes of a plant that follow a change of an action, as far as an undo asks. */
export interface Followers {
  /** The action of the next change; null for a change without one, undefined when no change follows. */
  readonly next: string | null | undefined
  /** The same of the newest change. */
  newest(): string | null | undefined
  /** The oldest first, at most MOST_FOLLOWERS. */
  all(): readonly Follower[]
}

/** Who undoes what, and how far that is with a plant. */
interface Undoing {
  readonly action: string
  /** The id of the action that undoes; undefined for a dry run. */
  readonly undo: string | undefined
  /** The part of the actor: an undo takes no plant into it, and none out of it. */
  readonly part?: Part | undefined
  /** What this step does with a later change of the plant. */
  readonly later: Fate | undefined
  /** Whether an earlier step of this undo has been at this change. False where the action has gone on since. */
  readonly isPassed: boolean
  /** The plant as it is now. */
  present(): NewPlant | undefined
}

/** What a step of an undo does with a plant: it makes it what it was, or leaves it. */
export type Fate = 'back' | 'left'

/**
 * Decides what an undo does with a change of an action. It reaches the changes of a plant from the newest back, and
 * where it leaves one of them, it leaves the earlier ones, too.
 *
 * @returns `restore further`: where a step before stopped. `restored`: by a step that was committed before. `earlier`: a
 *   later change of the action decides for the plant. `unseen`: the part has no such change
 */
export function decideUndo(
  { next, newest, all }: Followers,
  { before, after }: Swapped,
  { action, undo, part, later, isPassed, present }: Undoing,
): 'restore' | 'restore further' | 'restored' | 'leave' | 'earlier' | 'unseen' {
  if (later === 'left') return 'earlier'
  if (part !== undefined) {
    const isIn = [before, after].flatMap((plant) => (plant === undefined ? [] : covers(part, plant.tag)))
    if (!isIn.includes(true)) return 'unseen'
    if (isIn.includes(false)) return 'leave'
  }
  if (next === undefined) return 'restore'
  if (next === undo) return later === 'back' ? 'earlier' : 'restored'
  // Where the undo has come down to this change and no further, the plant is as the change had made it. There is no other
  // trace of a step that took back changes which cancel each other out.
  const isDue = undo !== undefined && (later === 'back' || (!isPassed && isEqual(present(), after)))
  const ofAction = isDue ? 'restore further' : 'earlier'
  // Most changes of an action that follow each other need no look at all that follows.
  if (next === action && (later === 'back' || (!isDue && newest() !== undo))) return ofAction
  const followers = all()
  if (followers.length === MOST_FOLLOWERS) {
    if (next !== action) return 'leave'
    return followers.every((follower) => follower.action === action) ? ofAction : 'earlier'
  }
  const at = followers.findIndex((follower) => follower.action === undo)
  const earlier = at < 0 ? followers : followers.slice(0, at)
  if (isLeftLater(earlier, action)) return 'earlier'
  const holding = firstHolding(earlier)
  if (holding === undefined) return at < 0 ? 'restore' : 'restored'
  return holding.action === action ? ofAction : 'leave'
}

/** Whether an undo leaves a later change of the action. */
const isLeftLater = (followers: readonly Follower[], action: string): boolean =>
  followers.some((follower, i) => {
    if (follower.action !== action || followers[i + 1]?.action === action) return false
    const holding = firstHolding(followers.slice(i + 1))
    return holding !== undefined && holding.action !== action
  })

/** The first change that nothing has undone. An undo of an undo makes a change hold again. */
function firstHolding(followers: readonly Follower[]): Follower | undefined {
  const runs = followers.filter(({ action }, i) => action === null || action !== followers[i - 1]?.action)
  /** The newest change up to an index that holds, as an index. */
  const newestUpTo = (index: number): number => {
    let i = index
    for (let undoes = runs[i]?.undoes; undoes !== undefined; undoes = runs[i]?.undoes) {
      const undone = runs[i - 1]?.action === undoes ? i - 1 : newestUpTo(i - 1)
      if (runs[undone]?.action !== undoes) return i
      i = undone - 1
    }
    return i
  }
  let first: Follower | undefined
  for (let i = newestUpTo(runs.length - 1); i >= 0; i = newestUpTo(i - 1)) first = runs[i]
  return first
}

/** A plant that an undo leaves, as the part of its actor has it. */
export const leftPlant = (id: bigint, plant: NewPlant | undefined, part: Part | undefined): LeftPlant => ({
  id,
  plant: plant !== undefined && covers(part, plant.tag) ? plant : undefined,
})

/** The JSON text of an action. Leaves out what is undefined. */
export function actionJson({ began, ended, ...action }: Action): string {
  const { id, title, token, created, updated, deleted, undoes, undoneBy } = action
  const times = { began: new Date(began).toISOString(), ended: new Date(ended).toISOString() }
  return JSON.stringify({ id, title, token, ...times, created, updated, deleted, undoes, undoneBy })
}
