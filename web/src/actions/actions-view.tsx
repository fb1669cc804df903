import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Action } from '../../../client/src/index.ts'
import { say, timeOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { plain } from '../page/named.ts'
import { isAbort, isRefusal, said } from '../page/said.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import { askUndo } from '../plants/bulk/undo-dialog.tsx'
import { useActors } from '../session/actor-names.ts'
import type { ViewProps } from '../session/session.ts'
import { countOf, countsOf, isUndone, type Known, nameOf } from './action-names.ts'

const PAGE = 50

/** Lists imports and changes of many plants, also those of others and of commands, and undoes one as a whole. */
export function ActionsView({ session: { client, may } }: ViewProps): JSX.Element {
  /** undefined: not read yet. */
  const actions = useSignal<readonly Action[] | undefined>(undefined)
  const next = useSignal<string | undefined>(undefined)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  const actorOf = useActors()
  const listing = useMemo(() => client.listActions({ limit: PAGE }, { signal: ending.current.signal }), [client])
  const read = async (at?: string): Promise<void> => {
    fault.value = ''
    try {
      const page = await listing.page(at)
      actions.value = at === undefined ? page.items : [...(actions.value ?? []), ...page.items]
      next.value = page.next
    } catch (error) {
      if (isRefusal(error, 40401)) fault.value = say('actions.off')
      else if (!isAbort(error)) fault.value = say('actions.unread', { why: said(error) })
    }
  }
  useEffect(() => {
    void read()
    return () => ending.current.abort()
  }, [listing])
  const known: Known = new Map(actions.value?.map((action) => [action.id, action]))
  return (
    <>
      <h1>{say('view.actions')}</h1>
      <p>{say('actions.note')}</p>
      <p role="status" class="note">
        {actions.value?.length === 0 && say('actions.none')}
      </p>
      <Fault text={fault.value} onRetry={() => void read()} />
      <ol class="actions">
        {actions.value?.map((action) => (
          <Row
            key={action.id}
            action={action}
            known={known}
            actorOf={actorOf}
            onUndo={
              may('plants:write')
                ? () => askUndo({ action: action.id, title: nameOf(action, known), onUndone: () => read() })
                : undefined
            }
          />
        ))}
      </ol>
      {next.value !== undefined && (
        <button type="button" onClick={() => void read(next.value)}>
          {say('history.earlier')}
        </button>
      )}
    </>
  )
}

interface RowProps {
  readonly action: Action
  readonly known: Known
  readonly actorOf: (token: string) => string
  readonly onUndo: (() => void) | undefined
}

function Row({ action, known, actorOf, onUndo }: RowProps): JSX.Element {
  const { began, token, undoneBy } = action
  const undo = known.get(undoneBy ?? '')
  const isWhole = undo !== undefined && countOf(undo) >= countOf(action)
  const name = nameOf(action, known)
  const counts = countsOf(action)
  const by = (who: string) => sayWith('history.by', { token: <bdi translate={false}>{actorOf(who)}</bdi> })
  return (
    <li>
      <div>
        <p>
          <strong>
            <Sentence text={name} />
          </strong>
        </p>
        {name !== counts && <p>{counts}</p>}
        <p class="note">
          <Time at={began} /> {by(token)}
        </p>
        {isUndone(action, known) && (
          <p class="note">
            {say('bulk.undone')}{' '}
            {undo !== undefined && (
              <>
                <Time at={undo.ended} /> {by(undo.token)}
              </>
            )}
          </p>
        )}
      </div>
      {onUndo !== undefined && !isWhole && (
        <button
          type="button"
          aria-label={say('actions.undoOf', { action: plain(name), time: timeOf(began, 'short') })}
          onClick={onUndo}
        >
          {say('plants.undo')}
        </button>
      )}
    </li>
  )
}

const Time = ({ at }: { readonly at: string }): JSX.Element => <time dateTime={at}>{timeOf(at, 'short')}</time>
