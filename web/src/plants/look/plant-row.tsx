import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { Icon } from '../../page/icon.tsx'
import { linkTo } from '../../page/route.ts'
import type { PlantChanges } from '../change/changes.ts'
import { RowEditor } from '../change/row-editor.tsx'
import { WaitingMark } from '../change/waiting-mark.tsx'
import { TagChip } from '../find/tag-chip.tsx'
import { drafts } from '../list/drafts.ts'
import { focusEditor, focusRow, rowAfter } from '../list/grid-keys.ts'

export interface RowProps {
  readonly plant: StoredPlant
  /** The `aria-rowindex`; that of the head is 1. */
  readonly index: number
  /** Whether Tab reaches the row. */
  readonly isReachable: boolean
  readonly onFocus: (id: bigint) => void
  /** undefined: the token may not change plants. */
  readonly changes: PlantChanges | undefined
  readonly isSelected: boolean
  readonly isSelectable: boolean
  /** @param isRange whether the selection reaches from the last row to this one */
  readonly onSelect: (plant: StoredPlant, isRange: boolean) => void
}

/**
 * One plant, or its editor. Enter or F2 opens the editor, the Delete key deletes the plant, and the space bar selects it;
 * with Shift, all rows from the last selected one.
 */
export function PlantRow(props: RowProps): JSX.Element {
  const { plant, index, isReachable, onFocus, changes, isSelected, isSelectable, onSelect } = props
  const place = useRef<HTMLDivElement>(null)
  const id = String(plant.id)
  const draft = changes === undefined ? undefined : drafts.value.get(id)
  const waits = waitingFor(plant.id)
  const { name, tag } = waits?.wanted ?? plant
  const isLeaving = waits?.wanted === null
  const edit = () => {
    changes?.edit(plant)
    focusEditor(id)
  }
  const remove = async () => {
    const next = rowAfter(plant.id)
    if ((await changes?.delete(plant)) && next !== undefined) focusRow(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== place.current || draft !== undefined || isLeaving) return
    if (event.key === 'Enter' || event.key === 'F2') edit()
    else if (event.key === 'Delete') void remove()
    else if (event.key === ' ' && isSelectable) onSelect(plant, event.shiftKey)
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={place}
      role="row"
      class={draft === undefined ? 'row' : 'row editing'}
      aria-rowindex={index}
      aria-selected={isSelected}
      data-id={id}
      tabIndex={isReachable ? 0 : -1}
      onFocusIn={() => onFocus(plant.id)}
      onKeyDown={onKeyDown}
    >
      {draft !== undefined && changes !== undefined ? (
        <RowEditor draft={draft} changes={changes} />
      ) : (
        <>
          <span role="gridcell" class="select">
            <label>
              <input
                type="checkbox"
                aria-label={say('plants.selectOf', { id })}
                tabIndex={isReachable ? 0 : -1}
                checked={isSelected}
                disabled={!isSelectable}
                onClick={(event) => onSelect(plant, event.shiftKey)}
              />
            </label>
          </span>
          <span role="gridcell" class="id" translate={false}>
            <a href={linkTo('plant', new URLSearchParams({ id }))} tabIndex={isReachable ? 0 : -1}>
              {id}
            </a>
          </span>
          <span role="gridcell" class="name" dir="auto" translate={false}>
            {isLeaving ? <s>{name}</s> : name}
            <WaitingMark id={plant.id} tabIndex={isReachable ? 0 : -1} />
          </span>
          <span role="gridcell" class="tag">
            {tag !== undefined && <TagChip tag={tag} tabIndex={isReachable ? 0 : -1} />}
          </span>
          <span role="gridcell" class="actions">
            {changes !== undefined && !isLeaving && (
              <>
                <button
                  type="button"
                  aria-label={say('plants.editOf', { id })}
                  tabIndex={isReachable ? 0 : -1}
                  onClick={edit}
                >
                  <Icon name="edit" /> <span class="word">{say('plants.edit')}</span>
                </button>
                <button
                  type="button"
                  class="delete"
                  aria-label={say('plants.deleteOf', { id })}
                  tabIndex={isReachable ? 0 : -1}
                  onClick={() => void remove()}
                >
                  {say('plants.delete')}
                </button>
              </>
            )}
          </span>
        </>
      )}
    </div>
  )
}
