import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { route } from '../route.ts'
import type { ViewProps } from '../views.ts'
import { ChoosePlants } from './choose-plants.tsx'
import { ChooseSheet } from './choose-sheet.tsx'
import { chosen, clearChosen, remove } from './chosen.ts'
import { faults, job } from './options.ts'
import { Preview } from './preview.tsx'
import { ReserveIds } from './reserve-ids.tsx'

/** The most chosen labels that the view lists. It counts the others. */
const MOST_SHOWN = 200

/** Prints or saves labels with names, ids and codes. */
export function LabelsView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  // The address sets the text of the search field only when the view opens.
  const query = useMemo(() => route.value.query, [])
  return (
    <div class="labels">
      <h1>Labels</h1>
      <div class="side-by-side">
        <div>
          <ChoosePlants client={client} id={query.get('id')} text={query.get('q') ?? ''} tags={query.getAll('tag')} />
          {may('plants:write') && <ReserveIds client={client} />}
        </div>
        <div>
          <Chosen />
          <ChooseSheet />
        </div>
      </div>
      {job.value === undefined ? (
        <p role="status">
          {chosen.value.length === 0 ? 'Choose some plants to see their labels.' : ''}
          {chosen.value.length > 0 && faults.value.size > 0 ? 'Correct the marked fields to see the labels.' : ''}
        </p>
      ) : (
        <Preview job={job.value} />
      )}
    </div>
  )
}

function Chosen(): JSX.Element {
  const labels = chosen.value
  return (
    <fieldset>
      <legend>Chosen</legend>
      <p role="status">{labels.length === 1 ? '1 label' : `${labels.length} labels`}</p>
      {labels.length > 0 && (
        <>
          <details>
            <summary>Show the labels</summary>
            <ul class="found">
              {labels.slice(0, MOST_SHOWN).map(({ id, name }) => (
                <li key={String(id)}>
                  <bdi>{name === '' ? '(to come)' : name.slice(0, 200)}</bdi> <span class="count">{String(id)}</span>
                  <button type="button" class="quiet" aria-label={`Remove ${id}`} onClick={() => remove(id)}>
                    Remove
                  </button>
                </li>
              ))}
            </ul>
            {labels.length > MOST_SHOWN && <p class="note">{labels.length - MOST_SHOWN} more</p>}
          </details>
          <button type="button" onClick={clearChosen}>
            Remove all
          </button>
        </>
      )}
    </fieldset>
  )
}
