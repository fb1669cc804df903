import type { JSX } from 'preact'
import type { Action } from '../../../client/src/index.ts'
import { say, timeOf } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { plain } from '../page/named.ts'
import { usePages } from '../page/pages.tsx'
import { linkTo } from '../page/route.ts'
import { Fault, Sentence } from '../page/sentence.tsx'
import { Time } from '../page/time.tsx'
import { askUndo } from '../plants/many/undo-dialog.tsx'
import { By } from '../session/by.tsx'
import type { ViewProps } from '../session/session.ts'
import { countOf, countsOf, isUndone, type Known, nameOf } from './action-names.ts'

const PAGE = 50

/** Lists imports and changes of many plants, also those of others and of commands, and undoes one as a whole. */
export function ActionsView({ session: { client, may } }: ViewProps): JSX.Element {
  const list = (signal: AbortSignal) => client.listActions({ limit: PAGE }, { signal })
  const [read, actions, more, fault, isOff] = usePages(list)
  const known: Known = new Map(actions?.map((action) => [action.id, action]))
  return (
    <>
      <h1>{say('view.actions')}</h1>
      <p>
        {say('actions.note')} <a href={linkTo('deleted')}>{say('view.deleted')}</a>
      </p>
      <p role="status" class="note">
        {actions?.length === 0 && say('actions.none')}
      </p>
      <Fault text={isOff ? say('actions.off') : fault} onRetry={read} />
      <ol class="rows actions">
        {actions?.map((action) => (
          <ActionRow
            key={action.id}
            action={action}
            known={known}
            onUndo={
              may('plants:write')
                ? () => askUndo({ action: action.id, title: nameOf(action, known), onUndone: read })
                : undefined
            }
          />
        ))}
      </ol>
      {more}
    </>
  )
}

interface RowProps {
  readonly action: Action
  readonly known: Known
  readonly onUndo: (() => void) | undefined
}

function ActionRow({ action, known, onUndo }: RowProps): JSX.Element {
  const { began, token, undoneBy } = action
  const undo = known.get(undoneBy ?? '')
  const isWhole = undo !== undefined && countOf(undo) >= countOf(action)
  const name = nameOf(action, known)
  const counts = countsOf(action)
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
          <Time at={began} /> <By token={token} />
        </p>
        {isUndone(action, known) && (
          <p class="note">
            {say('bulk.undone')}{' '}
            {undo !== undefined && (
              <>
                <Time at={undo.ended} /> <By token={undo.token} />
              </>
            )}
          </p>
        )}
      </div>
      {onUndo !== undefined && !isWhole && (
        <Button text={say('plants.undo')} of={`${plain(name)}, ${timeOf(began, 'short')}`} onClick={onUndo} />
      )}
    </li>
  )
}
