import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { closeOnEscape } from '../../page/focus.ts'
import { tell } from '../../page/notices.tsx'
import { Sentence } from '../../page/sentence.tsx'
import { onSignOut } from '../../session/session.ts'
import type { Reloaded } from '../plant-list.ts'
import { apply, type Conflict } from './apply.ts'
import { type Change, reversed } from './change.ts'

/** An action on many plants that can be undone as a whole while the page is open. */
interface Done {
  readonly key: number
  readonly text: string
  /** The changes that are still made. */
  readonly changes: readonly Change[]
  readonly isUndoing: boolean
  readonly conflicts: readonly Conflict[]
}

/** The most actions that the page keeps: two texts of each changed plant take memory. */
const MOST = 20

const actions = signal<readonly Done[]>([])
let last = 0

onSignOut(() => {
  actions.value = []
})

/** "1 plant" or "1,204 plants". */
export const plantsIn = (count: number): string => say('plants.count', { count })

/** Keeps an action for its undo, and tells the person. */
export function keepDone(client: PlantstoreClient, list: Reloaded, text: string, changes: readonly Change[]): void {
  if (changes.length === 0) {
    tell(text)
    return
  }
  last += 1
  const key = last
  actions.value = [{ key, text, changes, isUndoing: false, conflicts: [] }, ...actions.value].slice(0, MOST)
  tell(text, { action: { label: say('plants.undo'), run: () => void undo(client, list, key) } })
}

/** Undoes an action. Plants that another client has changed since stay as they are. */
async function undo(client: PlantstoreClient, list: Reloaded, key: number): Promise<void> {
  const action = actions.value.find((each) => each.key === key)
  if (action === undefined || action.isUndoing || action.changes.length === 0) return
  set(key, { isUndoing: true })
  const { done, conflicts, fault, left } = await apply(
    client,
    action.changes.map(reversed),
    () => {},
    new AbortController().signal,
  )
  set(key, { isUndoing: false, changes: left.map(reversed), conflicts })
  await list.reload()
  const plants = plantsIn(done.length)
  const retry = { label: say('page.tryAgain'), run: () => void undo(client, list, key) }
  if (left.length > 0) {
    tell(say('bulk.undoBroken', { plants: plantsIn(left.length), why: fault }), { isError: true, action: retry })
  } else if (conflicts.length === 0) tell(say('bulk.undoneFor', { plants }))
  else tell(say('bulk.undoneExcept', { plants, others: plantsIn(conflicts.length) }))
}

function set(key: number, part: Partial<Done>): void {
  actions.value = actions.value.map((action) => (action.key === key ? { ...action, ...part } : action))
}

interface DoneProps {
  readonly client: PlantstoreClient
  readonly list: Reloaded
}

/** Lists the actions of this page, the last one first, each with its undo. */
export function DoneActions({ client, list }: DoneProps): JSX.Element | null {
  if (actions.value.length === 0) return null
  return (
    <details class="undo" onKeyDown={closeOnEscape}>
      <summary>{say('plants.undo')}</summary>
      <div class="panel">
        <ul class="done">
          {actions.value.map(({ key, text, changes, isUndoing, conflicts }) => (
            <li key={key}>
              <p>
                <Sentence text={text} />
              </p>
              {changes.length > 0 ? (
                <button type="button" aria-disabled={isUndoing} onClick={() => void undo(client, list, key)}>
                  {isUndoing ? say('bulk.undoing') : say('bulk.undoFor', { plants: plantsIn(changes.length) })}
                </button>
              ) : (
                <p class="note">{say('bulk.undone')}</p>
              )}
              <Conflicts conflicts={conflicts} />
            </li>
          ))}
        </ul>
      </div>
    </details>
  )
}

/** The most conflicts that a list shows. */
const MOST_SHOWN = 100

/** Lists plants that an action left as they are, each with the reason. */
export function Conflicts({ conflicts }: { readonly conflicts: readonly Conflict[] }): JSX.Element | null {
  if (conflicts.length === 0) return null
  return (
    <>
      <p role="alert">{say('bulk.stayed', { count: conflicts.length })}</p>
      <ul class="conflicts">
        {conflicts.slice(0, MOST_SHOWN).map(({ plant, why }) => (
          <li key={String(plant.id)}>
            {String(plant.id)} <bdi translate={false}>{plant.name}</bdi>. <Sentence text={why} />
          </li>
        ))}
      </ul>
      {conflicts.length > MOST_SHOWN && <p class="note">{say('bulk.more', { more: conflicts.length - MOST_SHOWN })}</p>}
    </>
  )
}
