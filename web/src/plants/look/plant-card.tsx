import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { Further } from '../../page/further.tsx'
import { linkTo } from '../../page/route.ts'
import type { PlantChanges } from '../change/changes.ts'
import { RowEditor } from '../change/row-editor.tsx'
import { WaitingMark } from '../change/waiting-mark.tsx'
import { TagChip } from '../find/tag-chip.tsx'
import { drafts } from '../list/drafts.ts'
import { focusEditor } from '../list/grid-keys.ts'

interface CardProps {
  readonly plant: StoredPlant
  /** undefined: the token may not change plants. */
  readonly changes: PlantChanges | undefined
  /** Of the name: `h2` where the view has a title of its own. */
  readonly Heading: 'h1' | 'h2'
  readonly onCopy: () => void
}

/** A plant alone, or its editor, with the keys of a row of the table. What takes the plant away is behind a menu. */
export function PlantCard({ plant, changes, Heading, onCopy }: CardProps): JSX.Element {
  const id = String(plant.id)
  const waits = waitingFor(plant.id)
  const { name, tag } = waits?.wanted ?? plant
  const isLeaving = waits?.wanted === null
  const title = name === '' ? say('plant.title', { id }) : name
  const place = useRef<HTMLDivElement>(null)
  const draft = changes === undefined ? undefined : drafts.value.get(id)
  const edit = () => {
    changes?.edit(plant)
    focusEditor(id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== place.current || draft !== undefined || isLeaving) return
    if (event.key === 'Enter' || event.key === 'F2') edit()
    else if (event.key === 'Delete') void changes?.delete(plant)
    else return
    event.preventDefault()
  }
  return (
    <div role="grid" class="plants one" aria-label={say('plant.title', { id })}>
      {draft !== undefined && (
        <Heading class="hidden" translate={false}>
          {title}
        </Heading>
      )}
      <div
        ref={place}
        role="row"
        class={draft === undefined ? 'card-row' : 'row editing'}
        data-id={id}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        {draft !== undefined && changes !== undefined ? (
          <RowEditor draft={draft} changes={changes} />
        ) : (
          <>
            <span role="gridcell" class="name">
              <Heading dir="auto" translate={false}>
                {isLeaving ? <s>{title}</s> : title}
              </Heading>
              <WaitingMark id={plant.id} tabIndex={0} />
            </span>
            <span role="gridcell" class="tag">
              {tag !== undefined && <TagChip tag={tag} />}
            </span>
            <span role="gridcell" class="number">
              {say('plant.number', { id })}
            </span>
            <span role="gridcell" class="actions">
              {changes !== undefined && !isLeaving && (
                <button type="button" class="primary" aria-label={say('plants.editOf', { id })} onClick={edit}>
                  {say('plants.edit')}
                </button>
              )}
              <a class="button" href={linkTo('labels', new URLSearchParams({ id }))}>
                {say('plants.printLabel')}
              </a>
              {changes !== undefined && !isLeaving && (
                <Further label={say('plant.more', { id })}>
                  <button type="button" onClick={onCopy}>
                    {say('plants.another')}
                  </button>
                  <button
                    type="button"
                    class="danger"
                    aria-label={say('plants.deleteOf', { id })}
                    onClick={() => void changes.delete(plant)}
                  >
                    {say('plants.delete')}
                  </button>
                </Further>
              )}
            </span>
          </>
        )}
      </div>
    </div>
  )
}
