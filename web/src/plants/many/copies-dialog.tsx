import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { plantOf } from '../../offline/attempt.ts'
import { type Conflict, sendMany } from '../../offline/send-many.ts'
import { Dialog } from '../../page/dialog.tsx'
import { said } from '../../page/said.ts'
import { Sentence } from '../../page/sentence.tsx'
import type { PlantList } from '../list/plant-list.ts'
import { newAction } from './action-name.ts'
import { MOST_LABELS, printLabels } from './chosen-labels.ts'
import { Conflicts, plantsIn } from './done.tsx'
import { tellDone } from './undo-dialog.tsx'

interface CopiesProps {
  readonly client: PlantstoreClient
  readonly list: PlantList
  readonly plant: StoredPlant
  readonly onClose: () => void
}

/** Adds plants with the name and the tag of another one and the next free ids, and then prints their labels. */
export function CopiesDialog({ client, list, plant, onClose }: CopiesProps): JSX.Element {
  const count = useSignal('1')
  const isAdding = useSignal(false)
  const fault = useSignal('')
  const added = useSignal<readonly StoredPlant[] | undefined>(undefined)
  const conflicts = useSignal<readonly Conflict[]>([])
  /** The copies with their reserved ids. A second attempt adds the same ones. */
  const copies = useRef<readonly StoredPlant[]>([])
  const action = useRef(newAction(say('copies.title', { id: plant.id })))
  const wanted = /^[1-9]\d{0,3}$/.test(count.value.trim()) ? Number(count.value) : 0
  const isReady = wanted > 0 && wanted <= MOST_LABELS
  const run = async () => {
    if (isAdding.value || !isReady) return
    isAdding.value = true
    fault.value = ''
    try {
      if (copies.current.length !== wanted) {
        const { first } = await client.reserveIds(wanted)
        copies.current = Array.from({ length: wanted }, (_, i) => ({ ...plant, id: first + BigInt(i) }))
      }
      const changes = copies.current.map((wanted) => ({ id: wanted.id, base: null, wanted }))
      const outcome = await sendMany(client, changes, action.current, () => {}, new AbortController().signal)
      if (outcome.done.length > 0) {
        const text = say('copies.added', { plants: plantsIn(outcome.done.length), id: plant.id })
        tellDone(list, text, outcome.action)
        await list.reload()
      }
      conflicts.value = outcome.conflicts
      if (outcome.left.length > 0) fault.value = outcome.fault
      else added.value = outcome.done.flatMap(({ id, wanted }) => (wanted === null ? [] : plantOf(id, wanted)))
    } catch (error) {
      fault.value = said(error)
    }
    isAdding.value = false
  }
  const [first, last] = [added.value?.[0]?.id, added.value?.at(-1)?.id]
  const print = () => {
    onClose()
    printLabels(added.value ?? [])
  }
  return (
    <Dialog title={say('copies.title', { id: plant.id })} onCancel={onClose}>
      <p>
        <bdi translate={false}>{plant.name}</bdi>
      </p>
      {added.value === undefined ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            void run()
          }}
        >
          <div class="field">
            <label for="copies">{say('copies.count')}</label>
            <input
              id="copies"
              inputMode="numeric"
              autocomplete="off"
              value={count.value}
              aria-invalid={!isReady}
              onInput={(event) => {
                count.value = event.currentTarget.value
              }}
            />
          </div>
          <p class="note">{say('copies.note', { most: MOST_LABELS })}</p>
          {fault.value !== '' && (
            <p role="alert">{sayWith('copies.notAll', { why: <Sentence text={fault.value} /> })}</p>
          )}
          <div class="fields">
            <button type="button" onClick={onClose}>
              {say('plants.cancel')}
            </button>
            <button type="submit" class="primary" disabled={!isReady} aria-disabled={isAdding.value}>
              {isAdding.value ? say('plants.adding') : say('copies.add', { plants: plantsIn(wanted) })}
            </button>
          </div>
        </form>
      ) : (
        <>
          <p role="status">
            {first === undefined || last === undefined
              ? say('copies.done', { plants: plantsIn(0) })
              : say('copies.doneIds', { plants: plantsIn(added.value.length), first, last })}
          </p>
          <Conflicts conflicts={conflicts.value} />
          <div class="fields">
            <button type="button" onClick={onClose}>
              {say('bulk.close')}
            </button>
            <button type="button" class="primary" onClick={print}>
              {say('copies.print')}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}
