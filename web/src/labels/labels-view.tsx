import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { Rest } from '../page/first-of.tsx'
import { route } from '../page/route.ts'
import { filterIn } from '../plants/list/filter.ts'
import { CHOOSE_ALL, chosen, clearChosen, remove } from '../plants/many/chosen-labels.ts'
import type { ViewProps } from '../session/session.ts'
import { ChoosePlants } from './choose-plants.tsx'
import { ChooseSheet } from './choose-sheet.tsx'
import { ChooseText } from './choose-text.tsx'
import { faults, job } from './options.ts'
import { Preview } from './preview.tsx'
import { ReserveIds } from './reserve-ids.tsx'

/** The most chosen labels that the view lists. It counts the others. */
const MOST_SHOWN = 200

/** Prints or saves labels with names, ids and codes. */
export function LabelsView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  // The address sets the text of the search field only when the view opens.
  const query = useMemo(() => new URLSearchParams(route.value.query), [])
  const filter = useMemo(() => filterIn(query), [query])
  const isAdding = useSignal(false)
  return (
    <div class="labels">
      <h1>{say('view.labels')}</h1>
      <div class="making">
        <div class="side-by-side">
          <div>
            <ChoosePlants
              client={client}
              id={query.get('id')}
              filter={filter}
              isForAll={query.has(CHOOSE_ALL)}
              isAdding={isAdding}
            />
            {may('plants:write') && <ReserveIds client={client} />}
          </div>
          <div>
            <Chosen />
            <ChooseText />
            <ChooseSheet />
          </div>
        </div>
        {job.value === undefined ? (
          <p role="status">
            {chosen.value.length === 0 &&
              (isAdding.value ? say('page.going', { what: say('labels.addAll') }) : say('labels.chooseFirst'))}
            {chosen.value.length > 0 && faults.value.size > 0 && say('labels.correctFirst')}
          </p>
        ) : (
          <Preview job={job.value} />
        )}
      </div>
    </div>
  )
}

function Chosen(): JSX.Element {
  const labels = chosen.value
  return (
    <fieldset>
      <legend>{say('labels.chosen')}</legend>
      <p role="status">{say('labels.count', { count: labels.length })}</p>
      {labels.length > 0 && (
        <>
          <details>
            <summary>{say('labels.show')}</summary>
            <ul class="plain found">
              {labels.slice(0, MOST_SHOWN).map(({ id, name }) => (
                <li key={String(id)}>
                  <bdi translate={false}>{name === '' ? say('labels.toCome') : name.slice(0, 200)}</bdi>{' '}
                  <span class="count" translate={false}>
                    {String(id)}
                  </span>
                  <Button text={say('labels.remove')} class="quiet" of={id} onClick={() => remove(id)} />
                </li>
              ))}
            </ul>
            <Rest count={labels.length - MOST_SHOWN} />
          </details>
          <Button text={say('labels.removeAll')} onClick={clearChosen} />
        </>
      )}
    </fieldset>
  )
}
