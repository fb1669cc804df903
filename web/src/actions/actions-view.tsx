import { signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { listOf, say, timeOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { isAbort, isRefusal, said } from '../page/said.ts'
import { Fault } from '../page/sentence.tsx'
import { UndoDialog } from '../plants/bulk/undo-dialog.tsx'
import { useActors } from '../session/actor-names.ts'
import { onSignOut, type ViewProps } from '../session/session.ts'
import { type Action, changesOf, LastActions } from './last-actions.ts'

/** What this tab has read of the log. */
const lastActions = signal(new LastActions())

onSignOut(() => {
  lastActions.value = new LastActions()
})

/** Lists imports and changes of many plants, also those of others and of commands, and undoes one as a whole. */
export function ActionsView({ session: { client, may } }: ViewProps): JSX.Element {
  const fault = useSignal('')
  const hasRead = useSignal(false)
  const undoing = useSignal<Action | undefined>(undefined)
  const ending = useRef(new AbortController())
  const actorOf = useActors()
  const update = async (): Promise<void> => {
    fault.value = ''
    hasRead.value = false
    try {
      await lastActions.value.update(client, ending.current.signal)
      hasRead.value = true
    } catch (error) {
      if (isAbort(error)) return
      // The log has forgotten the last change that was read here, or the store was restored.
      if (isRefusal(error, 41001) && lastActions.value.hasRead) {
        lastActions.value = new LastActions()
        await update()
      } else if (isRefusal(error, 40401)) fault.value = say('actions.off')
      else fault.value = say('actions.unread', { why: said(error) })
    }
  }
  useEffect(() => {
    void update()
    return () => ending.current.abort()
  }, [])
  const { actions, oldest, count, isCut } = lastActions.value
  // An action that is read in part would be undone in part.
  const shown = hasRead.value ? actions.value : []
  const since = hasRead.value && isCut ? oldest.value : undefined
  return (
    <>
      <h1>{say('view.actions')}</h1>
      <p>{say('actions.note')}</p>
      <p role="status" class="note">
        {count.value !== undefined && say('actions.reading', { count: count.value })}
        {hasRead.value && shown.length === 0 && say('actions.none')}
      </p>
      <Fault text={fault.value} onRetry={() => void update()} />
      <ol class="actions">
        {shown.map((action) => (
          <Row
            key={action.first}
            action={action}
            actor={actorOf(action.token)}
            onUndo={may('plants:write') ? () => (undoing.value = action) : undefined}
          />
        ))}
      </ol>
      {since !== undefined && <p class="note">{say('actions.since', { time: timeOf(since, 'short') })}</p>}
      {undoing.value !== undefined && (
        <UndoDialog
          key={undoing.value.first}
          client={client}
          title={undoOf(undoing.value)}
          read={(onRead, signal) => changesOf(client, undoing.value as Action, onRead, signal)}
          asks
          onClose={() => {
            undoing.value = undefined
            void update()
          }}
        />
      )}
    </>
  )
}

interface RowProps {
  readonly action: Action
  readonly actor: string
  readonly onUndo: (() => void) | undefined
}

function Row({ action, actor, onUndo }: RowProps): JSX.Element {
  const { ended, name } = action
  return (
    <li>
      <div>
        <p>
          <strong>{titleOf(action)}</strong>
        </p>
        <p class="note">
          <time dateTime={new Date(ended).toISOString()}>{timeIn(action)}</time>{' '}
          {sayWith('history.by', { token: <bdi translate={false}>{actor}</bdi> })}
        </p>
        <p>
          <bdi translate={false}>{name}</bdi>…
        </p>
      </div>
      {onUndo !== undefined && (
        <button type="button" aria-label={undoOf(action)} onClick={onUndo}>
          {say('plants.undo')}
        </button>
      )}
    </li>
  )
}

const timeIn = ({ ended }: Action): string => timeOf(new Date(ended).toISOString(), 'short')

const undoOf = (action: Action): string => say('actions.undoOf', { action: titleOf(action), time: timeIn(action) })

/** What an action has done, such as `3 plants added and 1 plant changed`. */
function titleOf({ counts }: Action): string {
  const [added, changed, deleted] = [counts['plant.created'], counts['plant.updated'], counts['plant.deleted']]
  return listOf([
    ...(added > 0 ? [say('actions.added', { count: added })] : []),
    ...(changed > 0 ? [say('actions.changed', { count: changed })] : []),
    ...(deleted > 0 ? [say('actions.deleted', { count: deleted })] : []),
  ])
}
