import { computed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ListedPlant, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import type { PlantChanges } from '../change/changes.ts'
import type { Filter, Sort } from '../list/filter.ts'
import { moveFocus } from '../list/grid-keys.ts'
import type { Chunk, PlantList } from '../list/plant-list.ts'
import type { Selection } from '../list/selection.ts'
import { PlantRow, type RowProps } from './plant-row.tsx'

/** Rows up to this far outside the window are in the document. An empty block takes the place of each page beyond. */
const MARGIN = '1500px'

interface GridProps {
  readonly list: PlantList
  readonly filter: Filter
  readonly onSort: (sort: Sort) => void
  readonly changes: PlantChanges | undefined
  /** undefined: nothing can be selected. */
  readonly selection: Selection | undefined
  /** Whether the service tells the person the last changes. */
  readonly mayReadLog: boolean
}

/** The table. It draws only rows near the window. */
export function PlantGrid({ list, filter, onSort, changes, selection, mayReadLog }: GridProps): JSX.Element {
  const active = useSignal<bigint | undefined>(undefined)
  // Exactly one row is reachable by Tab.
  const reachable = useMemo(
    () =>
      computed(() => (active.value !== undefined && list.has(active.value) ? active.value : list.plants.value[0]?.id)),
    [list, active],
  )
  const isSelectable = list.shows(filter)
  const row = {
    changes,
    isSelectable,
    onFocus: (id: bigint) => {
      active.value = id
    },
    onSelect: (plant: StoredPlant, isRange: boolean) =>
      isRange ? selection?.toggleTo(plant, list.plants.value) : selection?.toggle(plant),
  }
  let start = 2
  return (
    <div
      role="grid"
      class={`plants${isSelectable ? '' : ' stale'}${selection === undefined ? ' unmarked' : ''}${filter.sort === '-changed' ? ' by-change' : ''}`}
      aria-multiselectable={selection !== undefined}
      aria-label={say('view.plants')}
      aria-rowcount={-1}
      aria-busy={list.state.value === 'searching'}
      onKeyDown={moveFocus}
    >
      <Heads {...{ filter, onSort, selection, mayReadLog, isSelectable }} />
      {list.chunks.value.map((chunk) => {
        const before = start
        start += chunk.plants.length
        return (
          <Rows
            key={chunk.key}
            chunk={chunk}
            start={before}
            reachable={reachable.value}
            selection={selection}
            row={row}
          />
        )
      })}
    </div>
  )
}

interface HeadsProps extends Pick<GridProps, 'filter' | 'onSort' | 'selection' | 'mayReadLog'> {
  readonly isSelectable: boolean
}

/** The heads of the columns, with the box that selects all plants that match. */
function Heads({ filter, onSort, selection, mayReadLog, isSelectable }: HeadsProps): JSX.Element {
  const isAll = selection?.isAll.value && selection.left.value === 0
  return (
    <div role="rowgroup" class="heads">
      <div role="row" class="row head" aria-rowindex={1}>
        <span role="columnheader" class="select">
          {selection !== undefined && (
            <label>
              <input
                type="checkbox"
                aria-label={say('plants.selectAll')}
                disabled={!isSelectable}
                checked={isAll}
                indeterminate={!isAll && !selection.isEmpty.value}
                onChange={(event) => (event.currentTarget.checked ? selection.selectAll(filter) : selection.clear())}
              />
            </label>
          )}
        </span>
        <SortHead title={say('plants.id')} by="id" sort={filter.sort} onSort={onSort} />
        <SortHead title={say('plants.name')} by="name" sort={filter.sort} onSort={onSort} />
        <span role="columnheader">{say('plants.tag')}</span>
        {mayReadLog ? (
          <SortHead title={say('plants.changed')} by="changed" sort={filter.sort} onSort={onSort} />
        ) : (
          <span role="columnheader" class="hidden">
            {say('plants.changed')}
          </span>
        )}
        <span role="columnheader" class="hidden">
          {say('plants.actions')}
        </span>
      </div>
    </div>
  )
}

/** Drawn, because not every font has arrows. */
const ARROWS = { ascending: 'M1 10l4-6 4 6z', descending: 'M1 4l4 6 4-6z', none: 'M1 6l4-5 4 5zM1 8l4 5 4-5z' } as const

interface SortHeadProps {
  readonly title: string
  readonly by: 'id' | 'name' | 'changed'
  readonly sort: Sort
  readonly onSort: (sort: Sort) => void
}

function SortHead({ title, by, sort, onSort }: SortHeadProps): JSX.Element {
  const order = sort === by ? 'ascending' : sort === `-${by}` ? 'descending' : 'none'
  const other =
    by === 'changed' ? (order === 'none' ? '-changed' : 'id') : order === 'ascending' ? (`-${by}` as const) : by
  return (
    <span role="columnheader" aria-sort={order}>
      <button type="button" class="sort" onClick={() => onSort(other)}>
        {title}
        <svg class="order" viewBox="0 0 10 14" aria-hidden="true">
          <path d={ARROWS[order]} />
        </svg>
      </button>
    </span>
  )
}

interface RowsProps {
  readonly chunk: Chunk
  /** The `aria-rowindex` of the first row of the chunk. */
  readonly start: number
  readonly reachable: bigint | undefined
  readonly selection: Selection | undefined
  readonly row: Pick<RowProps, 'changes' | 'isSelectable' | 'onFocus' | 'onSelect'>
}

function Rows({ chunk, start, reachable, selection, row }: RowsProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const height = useSignal<number | undefined>(undefined)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const observer = new IntersectionObserver(
      (entries) => {
        if (isNear(entries)) height.value = undefined
        else if (!element.contains(document.activeElement)) height.value = element.offsetHeight
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [height])
  const isShown = height.value === undefined
  return (
    <div
      ref={place}
      role={isShown ? 'rowgroup' : 'presentation'}
      style={isShown ? undefined : { height: `${height.value}px` }}
    >
      {isShown &&
        chunk.plants.map((plant: ListedPlant, i) => (
          <PlantRow
            key={String(plant.id)}
            plant={plant}
            index={start + i}
            isReachable={plant.id === reachable}
            isSelected={selection?.has(plant.id)}
            {...row}
          />
        ))}
    </div>
  )
}

/** Whether the observed element is near the window. The last entry counts: a busy browser reports several at once. */
export const isNear = (entries: readonly IntersectionObserverEntry[]): boolean =>
  entries.at(-1)?.isIntersecting ?? false
