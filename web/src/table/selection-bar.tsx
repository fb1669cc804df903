import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { PlantstoreClient, StoredPlant, Total } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import type { PlainKey } from '../language/texts.ts'
import { tell } from '../page/notices.tsx'
import { go } from '../page/route.ts'
import type { ActionKind } from '../plants/bulk/actions.ts'
import { BulkDialog } from '../plants/bulk/bulk-dialog.tsx'
import { plantsIn } from '../plants/bulk/done.tsx'
import { MOST_LABELS, printLabels, queryForLabels } from '../plants/chosen-labels.ts'
import type { Filter } from '../plants/filter.ts'
import type { PlantList } from '../plants/plant-list.ts'
import type { Selection, Targets } from '../plants/selection.ts'
import { CopiesDialog } from './copies-dialog.tsx'

interface BarProps {
  readonly client: PlantstoreClient
  readonly list: PlantList
  readonly filter: Filter
  readonly selection: Selection
  /** How many plants match, once that is known. */
  readonly total: Total | undefined
  /** Whether the token may change plants. */
  readonly mayWrite: boolean
}

/** The first ones, and the labels behind them, are in sight of a phone. */
const BUTTONS: readonly (readonly [ActionKind, PlainKey])[] = [
  ['tag', 'bulk.tag'],
  ['delete', 'plants.delete'],
  ['untag', 'bulk.untag'],
  ['replace', 'bulk.replace'],
]

/** Says that all plants are selected which match, except some. */
function allText(total: Total | undefined, left: number): string {
  if (total?.isExact !== true)
    return left > 0 ? say('bulk.allExcept', { plants: plantsIn(left) }) : say('bulk.allThatMatch')
  const count = total.plants - left
  return left > 0 ? say('bulk.selected', { count }) : say('bulk.allSelected', { count })
}

/** Says how many plants are selected, and what can be done with them. */
export function SelectionBar({ client, list, filter, selection, total, mayWrite }: BarProps): JSX.Element | null {
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
    if (targets.kind === 'matching' && targets.without.size === 0) return go('labels', queryForLabels(targets.filter))
    if (targets.kind === 'matching' || targets.plants.length > MOST_LABELS) {
      tell(say('bulk.tooManyLabels', { most: MOST_LABELS }), { isError: true })
      return
    }
    printLabels(targets.plants)
  }
  const count = selection.count.value
  const { value: left } = selection.left
  const isShown = list.shows(filter)
  const actions = BUTTONS.map(([kind, label]) => (
    <button key={kind} type="button" onClick={() => ask(kind)}>
      {say(label)}
    </button>
  ))
  const elsewhere = selection.countOutside(shown.value)
  return (
    <section class="selection" aria-label={say('bulk.selectedTitle')}>
      <p role="status">
        {count === undefined ? allText(total, left) : say('bulk.selected', { count })}
        {elsewhere > 0 && <> {say('bulk.elsewhere', { count: elsewhere })}</>}
      </p>
      <div class="tools">
        {mayWrite && actions.slice(0, 2)}
        <button type="button" class="print" onClick={print}>
          {say('bulk.print')}
        </button>
        {mayWrite && actions.slice(2)}
        {mayWrite && count === 1 && (
          <button type="button" onClick={copy}>
            {say('plants.another')}
          </button>
        )}
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
