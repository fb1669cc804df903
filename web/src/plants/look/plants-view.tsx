import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { hasTagging } from '../../../../src/domain/plant-query.ts'
import { say, timeOf } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { SeenLine } from '../../offline/seen-line.tsx'
import { Button } from '../../page/controls.tsx'
import { linkTo, queryOf, replaceQuery, route } from '../../page/route.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import { AddPlant } from '../change/add-plant.tsx'
import { NotAdded } from '../change/enter-plant.tsx'
import { type } from '../change/new-plant.ts'
import { Unfinished } from '../change/unfinished.tsx'
import { Matches, useCount } from '../find/matches.tsx'
import { idSought } from '../list/by-id.ts'
import { ANY_TAG, type Filter, filterIn, isAll, queryFor } from '../list/filter.ts'
import type { PlantList } from '../list/plant-list.ts'
import { Selection } from '../list/selection.ts'
import { walk } from '../list/walk.ts'
import { SelectionBar } from '../many/selection-bar.tsx'
import { isNear, PlantGrid } from './plant-grid.tsx'
import { Toolbar } from './toolbar.tsx'
import { usePlants } from './use-plants.ts'

interface PlantsProps extends ViewProps {
  /** Whether this device keeps a stocktake that has begun. */
  readonly isCounting: boolean
}

export function PlantsView({ session, isCounting }: PlantsProps): JSX.Element {
  const { client, may } = session
  const { query } = route.value
  const filter = useMemo(() => filterIn(query, may('log')), [query, may])
  const { list, changes } = usePlants(session)
  /** undefined: a visitor may do nothing with what is selected. */
  const selection = useMemo(() => (may('more') ? new Selection() : undefined), [list])
  const isAdding = useSignal(false)
  useEffect(() => list.show(filter), [list, filter])
  useEffect(() => selection?.keepOnly(filter), [selection, filter])
  const plants = list.plants.value
  useEffect(() => {
    walk.value = { query: queryFor(filter), ids: plants.map(({ id }) => id) }
  }, [filter, plants])
  const count = useCount(client, list, filter)
  const onChange = (part: Partial<Filter>) => replaceQuery(queryFor({ ...filter, ...part }))
  const isNothing = plants.length === 0 && list.state.value === 'whole' && filter.sort !== '-changed'
  const isBeginning = isNothing && isAll(filter)
  const shown = { session, list, filter, mayWrite: changes !== undefined }
  const onAdd = (name: string) => {
    type(undefined, { name })
    isAdding.value = true
  }
  return (
    <>
      <h1 class="hidden">{say('view.plants')}</h1>
      <Toolbar {...{ ...shown, onChange, isAdding, isBeginning, isCounting }} mayReadMore={may('more')} />
      {isAdding.value && (
        <>
          <NotAdded view="plant" />
          <AddPlant session={session} list={list} onCancel={() => (isAdding.value = false)} />
        </>
      )}
      {changes !== undefined && <Unfinished list={list} changes={changes} />}
      <SeenLine since={list.seenSince.value} />
      {selection !== undefined && <SelectionBar {...shown} selection={selection} total={count.total} />}
      {!isNothing && (
        <div class="list">
          <Matches list={list} filter={filter} {...count} countAll={may('more') ? count.countAll : undefined} />
          <PlantGrid
            {...{ list, filter, changes, selection }}
            mayReadLog={may('log')}
            onSort={(sort) => onChange({ sort })}
          />
        </div>
      )}
      <Foot list={list} filter={filter}>
        {isNothing && !isBeginning && <NoMatch filter={filter} onChange={onChange} onAdd={changes && onAdd} />}
      </Foot>
      {changes !== undefined && isBeginning && <Beginning onAdd={() => (isAdding.value = true)} />}
    </>
  )
}

/** Leads from an empty store to its first plants. */
function Beginning({ onAdd }: { readonly onAdd: () => void }): JSX.Element {
  return (
    <ul class="plain beginning">
      <li class="card">
        <a href={linkTo('import')}>{say('begin.import')}</a>
        <p>{say('begin.importNote')}</p>
      </li>
      <li class="card">
        <Button text={say('begin.enter')} onClick={onAdd} />
        <p>{say('begin.enterNote')}</p>
      </li>
      <li class="card">
        <a href={linkTo('labels')}>{say('begin.labels')}</a>
        <p>{say('begin.labelsNote')}</p>
      </li>
    </ul>
  )
}

interface NoMatchProps {
  readonly filter: Filter
  readonly onChange: (part: Partial<Filter>) => void
  /** undefined: the token may not add plants. */
  readonly onAdd: ((name: string) => void) | undefined
}

/** Leads on from a search that finds nothing. */
function NoMatch({ filter, onChange, onAdd }: NoMatchProps): JSX.Element {
  const id = idSought(filter.q)
  const words = filter.q.trim()
  return (
    <p class="leads">
      {words !== '' && <Button text={say('plants.clearSearch')} onClick={() => onChange({ q: '' })} />}
      {hasTagging(filter) && <Button text={say('plants.allTags')} onClick={() => onChange(ANY_TAG)} />}
      {onAdd !== undefined && id !== null && (
        <a class="button" href={linkTo('plant', queryOf(id))}>
          {say('stocktake.enter')}
        </a>
      )}
      {onAdd !== undefined && id === null && words !== '' && (
        <button type="button" onClick={() => onAdd(words)}>
          <span>{sayWith('plants.addNamed', { name: <bdi translate={false}>{words}</bdi> })}</span>
        </button>
      )}
    </p>
  )
}

/** Says why the table is empty. */
function nothingFor(filter: Filter): string {
  const id = idSought(filter.q)
  if (id !== null && !hasTagging(filter)) return say('stocktake.isNew', { id })
  return say(isAll(filter) ? 'plants.none' : 'plants.noMatch')
}

interface FootProps {
  readonly list: PlantList
  readonly filter: Filter
  readonly children: ComponentChildren
}

/** Says below the last row what the list is doing, and loads the next page before the window gets there. */
function Foot({ list, filter, children }: FootProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  const state = list.state.value
  useEffect(() => {
    const element = place.current
    if (element === null || state !== 'more') return
    const observer = new IntersectionObserver(
      (entries) => {
        if (isNear(entries)) list.more()
      },
      { rootMargin: '2000px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [list, state])
  const isEmpty = list.plants.value.length === 0
  const since = list.reachesTo.value
  const end =
    filter.sort === '-changed' && since !== undefined
      ? say('plants.changedSince', { time: timeOf(since, 'short') })
      : undefined
  return (
    <div ref={place} class={isEmpty ? 'foot nothing' : 'foot'} tabIndex={-1}>
      {state === 'failed' && <Fault text={list.fault.value} onRetry={() => list.retry()} />}
      <p role="status">
        {state === 'searching' && isEmpty && say('plants.searching')}
        {state === 'loading' && say('plant.reading')}
        {state === 'whole' && (end ?? (isEmpty ? nothingFor(filter) : say('plants.all')))}
      </p>
      {children}
    </div>
  )
}
