import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { StoredPlant, Total } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import type { PlainKey } from '../../language/texts.ts'
import { Button } from '../../page/controls.tsx'
import { Further } from '../../page/further.tsx'
import { tell } from '../../page/notices.tsx'
import { go } from '../../page/route.ts'
import { said } from '../../page/said.ts'
import type { Session } from '../../session/session.ts'
import type { Filter } from '../list/filter.ts'
import { returnToRows } from '../list/grid-keys.ts'
import type { PlantList } from '../list/plant-list.ts'
import type { Selection, Targets } from '../list/selection.ts'
import type { ActionKind } from './actions.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { printLabels, queryForLabels } from './chosen-labels.ts'
import { CopiesDialog } from './copies-dialog.tsx'
import { plantsIn } from './done.tsx'
import { readTargets } from './targets.ts'

interface BarProps {
  readonly session: Session
  readonly list: PlantList
  readonly filter: Filter
  readonly selection: Selection
  /** How many plants match, once that is known. */
  readonly total: Total | undefined
  /** Whether the token may change plants. */
  readonly mayWrite: boolean
}

/** Says how many plants are selected, and what can be done with them. */
export function SelectionBar(props: BarProps): JSX.Element | null {
  const { session, list, selection, total } = props
  const asked = useSignal<{ readonly kind: ActionKind; readonly targets: Targets } | undefined>(undefined)
  const copied = useSignal<StoredPlant | undefined>(undefined)
  const shown = useComputed(() => new Set(list.plants.value.map(({ id }) => id)))
  if (selection.isEmpty.value && asked.value === undefined && copied.value === undefined) return null
  const actions = actionsFor(props, {
    ask: (kind) => (asked.value = { kind, targets: selection.targets() }),
    copy: (plant) => (copied.value = plant),
  })
  const count = selection.count.value
  const elsewhere = selection.countOutside(shown.value)
  return (
    <section class="selection" aria-label={say('bulk.selectedTitle')}>
      <p role="status">
        {count === undefined ? allText(total, selection.left.value) : say('bulk.selected', { count })}
        {elsewhere > 0 && <span class="elsewhere"> {say('bulk.elsewhere', { count: elsewhere })}</span>}
      </p>
      {actions.slice(0, IN_BAR).map((action, i) => buttonOf(action, i === 0 ? undefined : 'wide'))}
      <Further label={say('bulk.further')}>
        {actions.slice(1).map((action, i) => buttonOf(action, i < IN_BAR - 1 ? 'narrow' : undefined))}
      </Further>
      <button type="button" class="quiet clear" onClick={() => selection.clear()}>
        <span class="word">{say('bulk.clear')}</span>
        <span class="cross" aria-hidden="true">
          ×
        </span>
      </button>
      {copied.value !== undefined && (
        <CopiesDialog session={session} list={list} plant={copied.value} onClose={() => (copied.value = undefined)} />
      )}
      {asked.value !== undefined && (
        <BulkDialog
          session={session}
          list={list}
          {...asked.value}
          {...(asked.value.targets.kind === 'chosen' ? { below: shown.value } : {})}
          onClose={(done) => {
            asked.value = undefined
            if (done === undefined) return
            selection.clear()
            returnToRows()
          }}
        />
      )}
    </section>
  )
}

interface Action {
  readonly label: PlainKey
  readonly run: () => void
}

interface Asking {
  readonly ask: (kind: ActionKind) => void
  readonly copy: (plant: StoredPlant | undefined) => void
}

/** What can be done with the selection: the first three in the bar of a wide window, only the first in a narrow one. */
function actionsFor(bar: BarProps, { ask, copy }: Asking): readonly Action[] {
  const { list, filter, selection, mayWrite } = bar
  const changing = (label: PlainKey, kind: ActionKind): readonly Action[] =>
    mayWrite ? [{ label, run: () => ask(kind) }] : []
  const copyOne = () => {
    const targets = selection.targets()
    if (targets.kind === 'chosen') copy(targets.plants[0])
  }
  const count = selection.count.value
  return [
    ...changing('bulk.tag', 'tag'),
    ...changing('plants.delete', 'delete'),
    { label: 'labels.print', run: () => void print(bar) },
    ...changing('bulk.untag', 'untag'),
    ...changing('bulk.replace', 'replace'),
    ...(mayWrite && count === 1 ? [{ label: 'plants.another', run: copyOne } as const] : []),
    ...(count === undefined || !list.shows(filter)
      ? []
      : [{ label: 'plants.selectAll', run: () => selection.selectAll(filter) } as const]),
  ]
}

async function print({ session, selection }: BarProps): Promise<void> {
  const targets = selection.targets()
  if (targets.kind === 'matching' && targets.without.size === 0) return go('labels', queryForLabels(targets.filter))
  try {
    const { plants } = await readTargets(session.client, targets, () => {}, new AbortController().signal)
    printLabels(plants)
  } catch (error) {
    tell(say('page.unread', { why: said(error) }), { isError: true })
  }
}

const buttonOf = ({ label, run }: Action, name: string | undefined): JSX.Element => (
  <Button text={say(label)} key={label} class={name} onClick={run} />
)

/** The actions that a wide window has beside its menu of further ones. */
const IN_BAR = 3

/** Says that all plants are selected which match, except some. */
function allText(total: Total | undefined, left: number): string {
  if (total?.isExact !== true)
    return left > 0 ? say('bulk.allExcept', { plants: plantsIn(left) }) : say('bulk.allThatMatch')
  const count = total.plants - left
  return left > 0 ? say('bulk.selected', { count }) : say('bulk.allSelected', { count })
}
