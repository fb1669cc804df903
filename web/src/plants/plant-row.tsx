import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { StoredPlant } from '../../../client/src/index.ts'
import type { PlantChanges } from './changes.ts'
import { drafts } from './drafts.ts'
import { focusEditor, focusRow, rowAfter } from './grid-keys.ts'
import { RowEditor } from './row-editor.tsx'

export interface RowProps {
  readonly plant: StoredPlant
  /** The `aria-rowindex`; that of the head is 1. */
  readonly index: number
  /** Whether Tab reaches the row. */
  readonly isReachable: boolean
  readonly onFocus: (id: bigint) => void
  /** undefined: the token may not change plants. */
  readonly changes: PlantChanges | undefined
}

/** One plant, or its editor. Enter or F2 opens the editor, the Delete key deletes the plant. */
export function PlantRow({ plant, index, isReachable, onFocus, changes }: RowProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const id = String(plant.id)
  const draft = changes === undefined ? undefined : drafts.value.get(id)
  const edit = () => {
    changes?.edit(plant)
    focusEditor(id)
  }
  const remove = async () => {
    const next = rowAfter(plant.id)
    if ((await changes?.delete(plant)) && next !== undefined) focusRow(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== place.current || draft !== undefined) return
    if (event.key === 'Enter' || event.key === 'F2') edit()
    else if (event.key === 'Delete') void remove()
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={place}
      role="row"
      class={draft === undefined ? 'row' : 'row editing'}
      aria-rowindex={index}
      data-id={id}
      tabIndex={isReachable ? 0 : -1}
      onFocusIn={() => onFocus(plant.id)}
      onKeyDown={onKeyDown}
    >
      {draft !== undefined && changes !== undefined ? (
        <RowEditor draft={draft} changes={changes} />
      ) : (
        <>
          <span role="gridcell" class="id">
            {id}
          </span>
          <span role="gridcell" class="name" dir="auto">
            {plant.name}
          </span>
          <span role="gridcell" class="tag" dir="auto">
            {plant.tag}
          </span>
          <span role="gridcell" class="actions">
            {changes !== undefined && (
              <>
                <button type="button" aria-label={`Edit ${id}`} tabIndex={isReachable ? 0 : -1} onClick={edit}>
                  Edit
                </button>
                <button
                  type="button"
                  aria-label={`Delete ${id}`}
                  tabIndex={isReachable ? 0 : -1}
                  onClick={() => void remove()}
                >
                  Delete
                </button>
              </>
            )}
          </span>
        </>
      )}
    </div>
  )
}
