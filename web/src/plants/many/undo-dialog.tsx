import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Action, PlantstoreClient, UndoReport } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { newAction } from '../../offline/new-action.ts'
import type { Conflict, OfMany } from '../../offline/send-many.ts'
import { Button } from '../../page/controls.tsx'
import { Dialog } from '../../page/dialog.tsx'
import { plain } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { pause } from '../../page/pause.ts'
import { isAbort, isRefusal, said } from '../../page/said.ts'
import { Sentence } from '../../page/sentence.tsx'
import { onSignOut, type ViewProps } from '../../session/session.ts'
import type { Reloaded } from '../list/plant-list.ts'
import { Conflicts, plantsIn } from './done.tsx'
import { Work, type WorkStep } from './work.tsx'

/** An action that a person is about to take back. */
interface Undoing {
  /** Its id. */
  readonly action: string
  /** What the page calls it, with marked names. */
  readonly title: string
  /** Called once plants are as before. @param plants how many; undefined: the undo stopped before its end */
  readonly onUndone: (plants: number | undefined) => Promise<void>
}

const asked = signal<Undoing | undefined>(undefined)

onSignOut(() => {
  asked.value = undefined
})

/** Opens the dialog, in any view. */
export function askUndo(undoing: Undoing): void {
  asked.value = undoing
}

/** Tells what an action has done and what waits of it, and offers its undo. */
export function tellDone(list: Reloaded, done: string, { waits, action }: Pick<OfMany, 'waits' | 'action'>): void {
  const kept = waits > 0 ? say('waiting.keptMany', { count: waits }) : ''
  const text = [done, kept].filter((part) => part !== '').join('. ')
  if (text !== '' && action === undefined) tell(text)
  else if (action !== undefined) {
    const run = () => askUndo({ action, title: text, onUndone: () => list.reload() })
    tell(text, { action: { label: say('plants.undo'), run } })
  }
}

/** The dialog of the undo that the person has asked for. */
export function UndoQuestion({ session }: ViewProps): JSX.Element | null {
  const { value: undoing } = asked
  if (undoing === undefined) return null
  const close = () => {
    if (asked.value === undoing) asked.value = undefined
  }
  return <UndoDialog key={undoing.action} session={session} {...undoing} onClose={close} />
}

interface UndoProps extends Undoing, ViewProps {
  readonly onClose: () => void
}

type Step =
  /** `of` is undefined where the token may not read it. */
  { readonly kind: 'asking'; readonly report: UndoReport; readonly of: Action | undefined } | WorkStep

/** Says what an undo would do, and does it. What was changed since stays as it is, and is listed. */
function UndoDialog(props: UndoProps): JSX.Element {
  const { title, onClose } = props
  const { now, read, run, stop } = useUndo(props)
  return (
    <Dialog title={<Sentence text={say('actions.undo', { action: title })} />} onCancel={onClose}>
      {now.kind === 'asking' ? (
        <Asking {...now} onRun={() => void run()} onCancel={onClose} />
      ) : (
        <Work {...{ step: now, onClose }} title={plain(title)} onRetry={read} onStop={stop} onGoOn={() => void run()} />
      )}
    </Dialog>
  )
}

/** Reads what an undo would do, and does it. */
function useUndo({ session: { client, may }, action, onUndone, onClose }: UndoProps) {
  const step = useSignal<Step>({ kind: 'reading', count: 0 })
  const ending = useRef(new AbortController())
  /** A further attempt goes on with the same undo. */
  const undo = useRef(newAction(''))
  const count = useRef(0)
  useEffect(() => {
    void read()
    return () => ending.current.abort()
  }, [])
  const read = async () => {
    step.value = { kind: 'reading', count: 0 }
    const { signal: ended } = ending.current
    try {
      const report = await client.undoAction(action, { dryRun: true, signal: ended })
      const of = may('plants:read') ? await client.getAction(action, { signal: ended }) : undefined
      count.current = report.restored
      undo.current = newAction(of?.title ?? '')
      step.value = { kind: 'asking', report, of }
    } catch (error) {
      if (!isAbort(error)) step.value = { kind: 'unread', fault: reasonOf(error) }
    }
  }
  const run = async () => {
    ending.current = new AbortController()
    const note = (done: number) => {
      step.value = { kind: 'working', done: Math.min(done, count.current), of: count.current }
    }
    note(0)
    const working = new AbortController()
    const ended = AbortSignal.any([ending.current.signal, working.signal])
    void follow(client, undo.current.action ?? '', note, ended)
    try {
      const options = { ...undo.current, signal: ending.current.signal }
      const { restored, left, leftPlants } = await client.undoAction(action, options)
      working.abort()
      const result = say('bulk.undoneFor', { plants: plantsIn(restored) })
      await onUndone(restored)
      if (left === 0) {
        tell(result)
        onClose()
      } else step.value = { kind: 'over', result, conflicts: leftPlants.map(conflictOf), stayed: left, fault: '' }
    } catch (error) {
      working.abort()
      const fault = say('actions.broken', { why: isAbort(error) ? '' : reasonOf(error) })
      step.value = { kind: 'over', result: '', conflicts: [], stayed: 0, fault }
      await onUndone(undefined)
    }
  }
  return { now: step.value, read: () => void read(), run, stop: () => ending.current.abort() }
}

/** ms between two looks at how far an undo is. */
const PAUSE = 1000

/** Tells how many plants an undo has changed so far: its answer comes at its end. */
async function follow(
  client: PlantstoreClient,
  undo: string,
  onProgress: (done: number) => void,
  ended: AbortSignal,
): Promise<void> {
  for (;;) {
    await pause(PAUSE, ended)
    if (ended.aborted) return
    const now = await client.getAction(undo, { signal: ended }).catch(() => undefined)
    if (now !== undefined && !ended.aborted) onProgress(now.created + now.updated + now.deleted)
  }
}

interface AskingProps extends Extract<Step, { kind: 'asking' }> {
  readonly onRun: () => void
  readonly onCancel: () => void
}

/** Says what an undo would do, and which plants stay as they are. */
function Asking({ report: { restored, left, leftPlants }, of, onRun, onCancel }: AskingProps): JSX.Element {
  return (
    <>
      <p>{restored === 0 ? say('actions.nothing') : effectOf(of, restored)}</p>
      <Conflicts conflicts={leftPlants.map(conflictOf)} count={left} lead="bulk.same" />
      <div class="fields">
        <Button text={say('plants.cancel')} onClick={onCancel} />
        {restored > 0 && (
          <Button text={say('bulk.undoFor', { plants: plantsIn(restored) })} class="primary" onClick={onRun} />
        )}
      </div>
    </>
  )
}

/** What the undo of an action does to so many plants. */
function effectOf(of: Action | undefined, count: number): string {
  if (of === undefined) return say('actions.becomes')
  const { created, updated, deleted } = of
  const all = created + updated + deleted
  if (created === all) return say('actions.deletes', { count })
  if (updated === all) return say('actions.restores', { count })
  return deleted === all ? say('actions.bringsBack', { count }) : say('actions.becomes')
}

const conflictOf = ({ id, plant }: UndoReport['leftPlants'][number]): Conflict => ({
  id,
  name: plant?.name,
  why: say('fault.changed'),
})

/** The log has let go a part of the action, or all of it. */
const reasonOf = (error: unknown): string =>
  isRefusal(error, 41002) || isRefusal(error, 40402) ? say('actions.gone') : said(error)
