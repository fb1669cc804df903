import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Dialog } from '../../page/dialog.tsx'
import { isAbort, said } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import { apply } from './apply.ts'
import { type Change, reversed } from './change.ts'
import { plantsIn } from './done.tsx'
import { Work, type WorkStep } from './work.tsx'

interface UndoProps {
  readonly client: PlantstoreClient
  readonly title: string
  /** Reads the changes as they were made. @param onRead called with the number of plants so far */
  readonly read: (onRead: (count: number) => void, signal: AbortSignal) => Promise<readonly Change[]>
  /** Whether the person has yet to see what the undo would do. */
  readonly asks: boolean
  /** @param undone the number of plants @param left the changes that are still made and may be undone */
  readonly onClose: (undone: number, left: readonly Change[]) => void
}

type Step =
  | { readonly kind: 'reading'; readonly count: number }
  | { readonly kind: 'unread'; readonly fault: string }
  | { readonly kind: 'asking'; readonly changes: readonly Change[] }
  | WorkStep

/** Undoes changes of many plants as a whole. What has changed since stays as it is, and is listed. */
export function UndoDialog({ client, title, read, asks, onClose }: UndoProps): JSX.Element {
  const step = useSignal<Step>({ kind: 'reading', count: 0 })
  const ending = useRef(new AbortController())
  const undone = useRef(0)
  /** The changes that are not undone yet, reversed. */
  const left = useRef<readonly Change[]>([])
  const close = () => {
    ending.current.abort()
    onClose(undone.current, left.current.map(reversed))
  }
  const run = async (wanted: readonly Change[]) => {
    ending.current = new AbortController()
    const before = undone.current
    const onProgress = (done: number) => {
      step.value = { kind: 'working', done, of: wanted.length }
    }
    onProgress(0)
    const outcome = await apply(client, wanted, onProgress, ending.current.signal)
    left.current = outcome.left
    undone.current = before + outcome.done.length
    if (outcome.conflicts.length === 0 && outcome.left.length === 0 && !asks) close()
    else {
      step.value = { kind: 'over', outcome, result: say('bulk.undoneFor', { plants: plantsIn(undone.current) }) }
    }
  }
  const start = async () => {
    const onRead = (count: number) => {
      step.value = { kind: 'reading', count }
    }
    onRead(0)
    try {
      const changes = await read(onRead, ending.current.signal)
      left.current = changes.map(reversed)
      if (asks) step.value = { kind: 'asking', changes: left.current }
      else await run(left.current)
    } catch (error) {
      if (!isAbort(error)) step.value = { kind: 'unread', fault: say('actions.unread', { why: said(error) }) }
    }
  }
  useEffect(() => {
    void start()
    return () => ending.current.abort()
  }, [])
  const now = step.value
  return (
    <Dialog title={title} onCancel={close}>
      {now.kind === 'reading' && <p role="status">{say('bulk.readingSoFar', { plants: plantsIn(now.count) })}</p>}
      {now.kind === 'unread' && <Fault text={now.fault} onRetry={() => void start()} />}
      {now.kind === 'asking' && <Preview changes={now.changes} />}
      {(now.kind === 'working' || now.kind === 'over') && (
        <Work
          title={title}
          step={now}
          onStop={() => ending.current.abort()}
          onGoOn={(rest) => void run(rest)}
          onClose={close}
        />
      )}
      {(now.kind === 'reading' || now.kind === 'unread' || now.kind === 'asking') && (
        <div class="fields">
          <button type="button" onClick={close}>
            {say('plants.cancel')}
          </button>
          {now.kind === 'asking' && now.changes.length > 0 && (
            <button type="button" class="primary" onClick={() => void run(now.changes)}>
              {say('bulk.undoFor', { plants: plantsIn(now.changes.length) })}
            </button>
          )}
        </div>
      )}
    </Dialog>
  )
}

/** Says what the changes of an undo would do. */
function Preview({ changes }: { readonly changes: readonly Change[] }): JSX.Element {
  const deleted = changes.filter(({ after }) => after === undefined).length
  const added = changes.filter(({ before }) => before === undefined).length
  const restored = changes.length - deleted - added
  if (changes.length === 0) return <p>{say('actions.nothing')}</p>
  return (
    <>
      <ul>
        {deleted > 0 && <li>{say('actions.deletes', { count: deleted })}</li>}
        {restored > 0 && <li>{say('actions.restores', { count: restored })}</li>}
        {added > 0 && <li>{say('actions.bringsBack', { count: added })}</li>}
      </ul>
      <p>{say('actions.guard')}</p>
    </>
  )
}
