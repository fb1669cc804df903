import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { StoredPlant } from '../../../../client/src/index.ts'
import { say, sayOf } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { newAction } from '../../offline/new-action.ts'
import { type Conflict, submitMany } from '../../offline/send-many.ts'
import { Button, Field, submitting } from '../../page/controls.tsx'
import { Dialog } from '../../page/dialog.tsx'
import { useRequest } from '../../page/request.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import type { PlantList } from '../list/plant-list.ts'
import { MOST_LABELS, printLabels } from './chosen-labels.ts'
import { Conflicts, plantsIn } from './done.tsx'
import { tellDone } from './undo-dialog.tsx'

interface CopiesProps extends ViewProps {
  readonly list: PlantList
  readonly plant: StoredPlant
  readonly onClose: () => void
}

interface Added {
  readonly plants: readonly StoredPlant[]
  readonly conflicts: readonly Conflict[]
}

/** Adds plants with the name and the tag of another one and the next free ids, and then prints their labels. */
export function CopiesDialog({ session, list, plant, onClose }: CopiesProps): JSX.Element {
  const added = useSignal<Added | undefined>(undefined)
  const { isBusy, fault, once } = useRequest()
  /** The copies with their reserved ids. A second attempt adds the same ones. */
  const copies = useRef<readonly StoredPlant[]>([])
  const action = useRef(newAction(sayOf('plants.another', plant.id)))
  const add = async (count: number) => {
    if (copies.current.length !== count) {
      const { first } = await session.client.reserveIds(count)
      copies.current = Array.from({ length: count }, (_, i) => ({ ...plant, id: first + BigInt(i) }))
    }
    const changes = copies.current.map((wanted) => ({ id: wanted.id, base: null, wanted }))
    const { done, conflicts, left, ...sent } = await submitMany(session, changes, action.current, () => {}, NEVER)
    if (done.length > 0 || sent.waits > 0) {
      tellDone(list, say('copies.added', { plants: plantsIn(done.length), id: plant.id }), sent)
      await list.reload()
    }
    if (left.length > 0) fault.value = say('bulk.left', { plants: plantsIn(left.length), why: sent.fault })
    else if (sent.waits > 0 || sent.met > 0) onClose()
    else added.value = { plants: done.flatMap(({ id, wanted }) => (wanted ? [plantOf(id, wanted)] : [])), conflicts }
  }
  return (
    <Dialog title={sayOf('plants.another', plant.id)} onCancel={onClose}>
      <p>
        <bdi translate={false}>{plant.name}</bdi>
      </p>
      {added.value === undefined ? (
        <HowMany
          isAdding={isBusy.value}
          fault={fault.value}
          onAdd={(count) => void once(() => add(count))}
          onClose={onClose}
        />
      ) : (
        <AddedCopies {...added.value} onClose={onClose} />
      )}
    </Dialog>
  )
}

/** A closed dialog has asked for its copies, so they are added to the last one. */
const NEVER = new AbortController().signal

interface HowManyProps {
  readonly isAdding: boolean
  readonly fault: string
  readonly onAdd: (count: number) => void
  readonly onClose: () => void
}

function HowMany({ isAdding, fault, onAdd, onClose }: HowManyProps): JSX.Element {
  const count = useSignal('1')
  const wanted = /^[1-9]\d{0,3}$/.test(count.value.trim()) ? Number(count.value) : 0
  const isReady = wanted > 0 && wanted <= MOST_LABELS
  return (
    <form onSubmit={submitting(() => isReady && onAdd(wanted))}>
      <Field
        id="copies"
        label={say('copies.count')}
        inputMode="numeric"
        value={count.value}
        aria-invalid={!isReady}
        onText={(text) => (count.value = text)}
      />
      <p class="note">{say('copies.note', { most: MOST_LABELS })}</p>
      <Fault text={fault} />
      <div class="fields">
        <Button text={say('plants.cancel')} onClick={onClose} />
        <Button
          text={say('copies.add', { plants: plantsIn(wanted) })}
          type="submit"
          class="primary"
          disabled={!isReady}
          isBusy={isAdding}
        />
      </div>
    </form>
  )
}

interface AddedProps extends Added {
  readonly onClose: () => void
}

function AddedCopies({ plants, conflicts, onClose }: AddedProps): JSX.Element {
  const [first, last] = [plants[0]?.id, plants.at(-1)?.id]
  return (
    <>
      <p role="status">
        {first !== undefined &&
          last !== undefined &&
          say('copies.doneIds', { plants: plantsIn(plants.length), first, last })}
      </p>
      <Conflicts conflicts={conflicts} />
      <div class="fields">
        <Button text={say('bulk.close')} onClick={onClose} />
        <Button
          text={say('plants.printLabels')}
          class="primary"
          onClick={() => {
            onClose()
            printLabels(plants)
          }}
        />
      </div>
    </>
  )
}
