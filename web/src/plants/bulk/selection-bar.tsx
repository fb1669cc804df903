import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient, StoredPlant } from '../../../../client/src/index.ts'
import { add, clearChosen, labelOf, MOST_LABELS } from '../../labels/chosen.ts'
import { say } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import { tell } from '../../notices.tsx'
import { go } from '../../route.ts'
import { type Filter, queryFor } from '../filter.ts'
import type { PlantList } from '../plant-list.ts'
import type { Selection, Targets } from '../selection.ts'
import type { ActionKind } from './actions.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { CopiesDialog } from './copies-dialog.tsx'
import { plantsIn } from './done.tsx'

interface BarProps {
  readonly client: PlantstoreClient
  readonly list: PlantList
  readonly filter: Filter
  readonly selection: Selection
  /** Whether the token may change plants. */
  readonly mayWrite: boolean
}

const BUTTONS: readonly (readonly [ActionKind, PlainKey])[] = [
  ['tag', 'bulk.tag'],
  ['untag', 'bulk.untag'],
  ['replace', 'bulk.replace'],
  ['delete', 'plants.delete'],
]

/** Says how many plants are selected, and what can be done with them. */
export function SelectionBar({ client, list, filter, selection, mayWrite }: BarProps): JSX.Element | null {
  const asked = useSignal<{ readonly kind: ActionKind; readonly targets: Targets } | undefined>(undefined)
  const copied = useSignal<StoredPlant | undefined>(undefined)
  const shown = useComputed(() => new Set(list.chunks.value.flatMap(({ plants }) => plants.map(({ id }) => id))))
  if (selection.isEmpty.value && asked.value === undefined && copied.value === undefined) return null
  const ask = (kind: ActionKind) => {
    asked.value = { kind, targets: selection.targets() }
  }
  const copy = () => {
    const targets = selection.targets()
    if (targets.kind === 'chosen') copied.value = targets.plants[0]
  }
  const print = () => {
    const targets = selection.targets()
    if (targets.kind === 'matching' && targets.without.size === 0)
      return go('labels', queryFor({ ...targets.filter, sort: 'id' }))
    if (targets.kind === 'matching' || targets.plants.length > MOST_LABELS) {
      tell(say('bulk.tooManyLabels', { most: MOST_LABELS }), { isError: true })
      return
    }
    clearChosen()
    add(targets.plants.map(labelOf))
    go('labels')
  }
  const count = selection.count.value
  const { value: left } = selection.left
  const isShown = list.shows(filter)
  const elsewhere = selection.countOutside(shown.value)
  return (
    <section class="selection" aria-label={say('bulk.selectedTitle')}>
      <p role="status">
        {count !== undefined
          ? say('bulk.selected', { count })
          : left > 0
            ? say('bulk.allExcept', { plants: plantsIn(left) })
            : say('bulk.allThatMatch')}
        {elsewhere > 0 && <> {say('bulk.elsewhere', { count: elsewhere })}</>}
      </p>
      <div class="tools">
        {mayWrite &&
          BUTTONS.map(([kind, label]) => (
            <button key={kind} type="button" onClick={() => ask(kind)}>
              {say(label)}
            </button>
          ))}
        {mayWrite && count === 1 && (
          <button type="button" onClick={copy}>
            {say('plants.another')}
          </button>
        )}
        <button type="button" onClick={print}>
          {say('bulk.print')}
        </button>
        {count !== undefined && (
          <button type="button" disabled={!isShown} onClick={() => selection.selectAll(filter)}>
            {say('plants.selectAll')}
          </button>
        )}
      </div>
      <button type="button" class="quiet" onClick={() => selection.clear()}>
        {say('bulk.clear')}
      </button>
      {copied.value !== undefined && (
        <CopiesDialog
          client={client}
          list={list}
          plant={copied.value}
          onClose={() => {
            copied.value = undefined
          }}
        />
      )}
      {asked.value !== undefined && (
        <BulkDialog
          client={client}
          list={list}
          {...asked.value}
          onClose={(done) => {
            asked.value = undefined
            if (done !== undefined) selection.clear()
          }}
        />
      )}
    </section>
  )
}
