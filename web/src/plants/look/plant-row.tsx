import type { JSX } from 'preact'
import type { ListedPlant, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Button } from '../../page/controls.tsx'
import { Icon } from '../../page/icon.tsx'
import { linkTo, queryOf } from '../../page/route.ts'
import { Time } from '../../page/time.tsx'
import type { PlantChanges } from '../change/changes.ts'
import { RowEditor } from '../change/row-editor.tsx'
import { WaitingMark } from '../change/waiting-mark.tsx'
import { TagChip } from '../find/tag-chip.tsx'
import { focusRow, rowAfter } from '../list/grid-keys.ts'
import { rowOf } from './row.ts'

export interface RowProps {
  readonly plant: ListedPlant
  /** The `aria-rowindex`; that of the head is 1. */
  readonly index: number
  /** Whether Tab reaches the row. */
  readonly isReachable: boolean
  readonly onFocus: (id: bigint) => void
  /** undefined: the token may not change plants. */
  readonly changes: PlantChanges | undefined
  /** undefined: nothing can be selected. */
  readonly isSelected: boolean | undefined
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
  const remove = async () => {
    const next = rowAfter(plant.id)
    if ((await changes?.delete(plant)) && next !== undefined) focusRow(next)
  }
  const select = (isRange: boolean) => onSelect(plant, isRange)
  const row = rowOf(plant, changes, { remove, select: isSelectable ? select : undefined })
  const { id, name, tag, isLeaving, editor } = row
  const tabIndex = isReachable ? 0 : -1
  return (
    <div
      role="row"
      class={editor === undefined ? 'row' : 'row editing'}
      aria-rowindex={index}
      aria-selected={isSelected}
      data-id={id}
      tabIndex={tabIndex}
      onFocusIn={() => onFocus(plant.id)}
      onKeyDown={row.onKeyDown}
    >
      {editor !== undefined ? (
        <RowEditor {...editor} />
      ) : (
        <>
          <span role="gridcell" class="select">
            {isSelected !== undefined && (
              <label>
                <input
                  type="checkbox"
                  aria-label={say('plants.selectOf', { id })}
                  tabIndex={tabIndex}
                  checked={isSelected}
                  disabled={!isSelectable}
                  onClick={(event) => select(event.shiftKey)}
                />
              </label>
            )}
          </span>
          <span role="gridcell" class="id" translate={false}>
            <a href={linkTo('plant', queryOf(id))} tabIndex={tabIndex}>
              {id}
            </a>
          </span>
          <span role="gridcell" class="name" dir="auto" translate={false}>
            {isLeaving ? <s>{name}</s> : name}
            <WaitingMark id={plant.id} tabIndex={tabIndex} />
          </span>
          <span role="gridcell" class="tag">
            {tag !== undefined && <TagChip tag={tag} tabIndex={tabIndex} />}
          </span>
          <span role="gridcell" class="changed">
            {plant.changed !== undefined && <Time at={plant.changed} />}
          </span>
          <span role="gridcell" class="actions">
            {changes !== undefined && !isLeaving && (
              <Buttons id={id} tabIndex={tabIndex} onEdit={row.edit} onDelete={remove} />
            )}
          </span>
        </>
      )}
    </div>
  )
}

interface ButtonsProps {
  readonly id: string
  readonly tabIndex: number
  readonly onEdit: () => void
  readonly onDelete: () => Promise<void>
}

const Buttons = ({ id, tabIndex, onEdit, onDelete }: ButtonsProps): JSX.Element => (
  <>
    <button
      type="button"
      aria-label={say('page.about', { what: say('plants.edit'), of: id })}
      tabIndex={tabIndex}
      onClick={onEdit}
    >
      <Icon name="edit" /> <span class="word">{say('plants.edit')}</span>
    </button>
    <Button text={say('plants.delete')} class="delete" of={id} tabIndex={tabIndex} onClick={() => void onDelete()} />
  </>
)
