import type { StoredPlant } from '../../../../client/src/index.ts'
import { waitingFor } from '../../offline/waiting.ts'
import type { PlantChanges } from '../change/changes.ts'
import { drafts } from '../list/drafts.ts'
import { focusEditor } from '../list/grid-keys.ts'

interface RowActions {
  readonly remove: () => void
  /** @param isRange whether the person holds the Shift key */
  readonly select?: ((isRange: boolean) => void) | undefined
}

/**
 * Returns what a row shows of a plant, with the change of it that waits, and its editor, if that is open.
 *
 * @param changes undefined: the token may not change plants
 */
export function rowOf(plant: StoredPlant, changes: PlantChanges | undefined, { remove, select }: RowActions) {
  const id = String(plant.id)
  const waits = waitingFor(plant.id)
  const { name, tag } = waits?.wanted ?? plant
  const isLeaving = waits?.wanted === null
  const draft = changes && drafts.value.get(id)
  const edit = () => {
    changes?.edit(plant)
    focusEditor(id)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || draft !== undefined || isLeaving) return
    const act = { Enter: edit, F2: edit, Delete: remove, ' ': select }[event.key]
    if (act === undefined) return
    act(event.shiftKey)
    event.preventDefault()
  }
  return { id, name, tag, isLeaving, editor: changes && draft && { changes, draft }, edit, onKeyDown }
}
