import type { JSX } from 'preact'
import type { ChangeEntry, StoredPlant } from '../../../../client/src/index.ts'
import { say, sayOf, timeOf } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import { submit } from '../../offline/send.ts'
import { Button } from '../../page/controls.tsx'
import { named } from '../../page/named.ts'
import { tell, tellFailure } from '../../page/notices.tsx'
import { usePages } from '../../page/pages.tsx'
import { PageError } from '../../page/said.ts'
import { Fault } from '../../page/sentence.tsx'
import { Time } from '../../page/time.tsx'
import { shownTag } from '../../plants/list/shown-tag.ts'
import { By } from '../../session/by.tsx'
import type { ViewProps } from '../../session/session.ts'
import { tellKept } from '../change/changes.ts'
import { askUndo } from '../many/undo-dialog.tsx'

interface HistoryProps extends ViewProps {
  readonly id: bigint
  /** The plant as the page shows it; another one means that the history has grown. */
  readonly state: StoredPlant | undefined
  readonly onRestored: () => void
}

const PAGE = 20
const DONE = {
  'plant.created': 'history.created',
  'plant.updated': 'history.updated',
  'plant.deleted': 'history.deleted',
} as const satisfies Readonly<Record<ChangeEntry['type'], PlainKey>>

/** Shows what happened to a plant, also to a deleted one, and brings back an earlier state of it. */
export function History({ session, id, state, onRestored }: HistoryProps): JSX.Element | null {
  const { client, may } = session
  const mayWrite = may('plants:write')
  const list = (signal: AbortSignal) => client.history(id, { limit: PAGE }, { signal })
  const [read, entries, more, fault, isOff] = usePages(list, state)
  const restore = async (plant: StoredPlant) => {
    try {
      const outcome = await submit(session, { id, base: state ?? null, wanted: plant })
      if (outcome.kind === 'waits') tellKept(`${id} ${named(plant.name)}`)
      else if (outcome.kind === 'stored') tell(say('plants.saved', { id }))
      else throw new PageError(say('fault.changed'))
    } catch (error) {
      tellFailure(sayOf('history.restore', id), error)
    }
    onRestored()
  }
  const undo = (action: string, at: string) =>
    askUndo({ action, title: timeOf(at, 'medium'), onUndone: async () => onRestored() })
  if (isOff) return null
  return (
    <section class="history" aria-label={say('history.title')}>
      <h2>{say('history.title')}</h2>
      {entries?.length === 0 && fault === '' && <p class="note">{say('history.none')}</p>}
      <ol class="rows">
        {entries?.map(({ position, type, time: at, plant, before, token, action }) => (
          <li key={position}>
            <p>
              {say(DONE[type])} <Time at={at} style="medium" />{' '}
              <span class="note">
                <By token={token} />
              </span>
            </p>
            {before !== undefined && <State plant={before} isOld={plant !== undefined} />}
            {plant !== undefined && <State plant={plant} isOld={false} />}
            {mayWrite && (
              <div>
                {before !== undefined && (
                  <Button
                    text={say('history.restore')}
                    class="quiet"
                    of={before.name}
                    onClick={() => void restore(before)}
                  />
                )}
                {action !== undefined && (
                  <Button text={say('history.undo')} class="quiet" onClick={() => undo(action, at)} />
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
      {more}
      <Fault text={fault} onRetry={read} />
    </section>
  )
}

/** The name and the tag of a plant. */
function State({ plant, isOld }: { readonly plant: StoredPlant; readonly isOld: boolean }): JSX.Element {
  const texts = (
    <>
      <bdi translate={false}>{plant.name}</bdi>
      {plant.tag !== undefined && (
        <>
          , <bdi translate={false}>{shownTag(plant.tag)}</bdi>
        </>
      )}
    </>
  )
  return <p class="state">{isOld ? <del>{texts}</del> : texts}</p>
}
