import type { Action } from '../../../client/src/index.ts'
import { listOf, say } from '../language/language.ts'
import { named } from '../page/named.ts'

/** The actions that the page has read, by their ids. */
export type Known = ReadonlyMap<string, Action>

/** What people call an action: by its title, marked, or by what it did, and an undo by what it took back. */
export function nameOf(action: Action, known: Known): string {
  if (action.undoes === undefined) return action.title === undefined ? countsOf(action) : named(action.title)
  let isUndo = true
  let first: Action | undefined = known.get(action.undoes)
  for (; first?.undoes !== undefined; first = known.get(first.undoes)) isUndo = !isUndo
  const what = say(isUndo ? 'bulk.undone' : 'actions.redone')
  return say('page.about', { what, of: nameOf(first ?? { ...action, undoes: undefined }, known) })
}

/** What an action has done, such as `3 plants added and 1 plant changed`. */
export function countsOf({ created, updated, deleted }: Action): string {
  return listOf([
    ...(created > 0 ? [say('actions.added', { count: created })] : []),
    ...(updated > 0 ? [say('actions.changed', { count: updated })] : []),
    ...(deleted > 0 ? [say('actions.deleted', { count: deleted })] : []),
  ])
}

export const countOf = ({ created, updated, deleted }: Action): number => created + updated + deleted

/** Whether the newest undo of an action holds, because nobody has undone that in turn. */
export function isUndone({ undoneBy }: Action, known: Known): boolean {
  if (undoneBy === undefined) return false
  const undo = known.get(undoneBy)
  return undo === undefined || !isUndone(undo, known)
}
