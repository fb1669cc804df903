import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Icon } from '../icon.tsx'
import { say } from '../language/language.ts'
import { linkTo, replaceQuery, route } from '../route.ts'
import { Fault } from '../sentence.tsx'
import { stocktake } from '../stocktake/kept-stocktake.ts'
import type { ViewProps } from '../views.ts'
import { AddPlant } from './add-plant.tsx'
import { DoneActions } from './bulk/done.tsx'
import { SelectionBar } from './bulk/selection-bar.tsx'
import { idSought } from './by-id.ts'
import { PlantChanges } from './changes.ts'
import { entered } from './enter-plant.tsx'
import { ExportPlants } from './export-plants.tsx'
import { type Filter, filterIn, isAll, queryFor } from './filter.ts'
import { follow } from './live.ts'
import { Matches } from './matches.tsx'
import { isNear } from './near.ts'
import { isTyped } from './new-plant.ts'
import { NotAdded } from './not-added.tsx'
import { PlantGrid } from './plant-grid.tsx'
import { PlantList } from './plant-list.ts'
import { SavedSearches } from './saved-searches-panel.tsx'
import { SearchField } from './search-field.tsx'
import { Selection } from './selection.ts'
import { TagFilter } from './tag-filter.tsx'
import { Unfinished } from './unfinished.tsx'

export function PlantsView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  const { query } = route.value
  const filter = useMemo(() => filterIn(query), [query])
  const list = useMemo(() => new PlantList(client), [client])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(client, list) : undefined), [client, list])
  const selection = useMemo(() => new Selection(), [list])
  const isAdding = useSignal(false)
  /** On a narrow window; a wide one shows the tools in any case. */
  const isFolded = useSignal(true)
  useEffect(() => list.show(filter), [list, filter])
  useEffect(() => selection.keepOnly(filter), [selection, filter])
  useEffect(() => () => list.stop(), [list])
  useEffect(() => follow(client, list, session.own.id), [client, list])
  const change = (part: Partial<Filter>) => replaceQuery(queryFor({ ...filter, ...part }))
  const isEmpty = list.chunks.value.every(({ plants }) => plants.length === 0)
  const notAdded = entered.value.length + (isTyped() && !isAdding.value ? 1 : 0)
  const isBeginning = isEmpty && list.state.value === 'whole' && isAll(filter)
  return (
    <>
      <h1 class="hidden">{say('view.plants')}</h1>
      <search class="toolbar">
        <SearchField id="search" q={filter.q} onSearch={(q) => change({ q })} />
        <a class="button" href={linkTo('scan')}>
          <Icon name="camera" /> <span class="word">{say('scan.open')}</span>
        </a>
        {changes !== undefined && (
          <button
            type="button"
            class="primary"
            aria-expanded={isAdding.value}
            onClick={() => {
              isAdding.value = !isAdding.value
            }}
          >
            <Icon name="add" />{' '}
            <span class="word">
              {say('plants.addTitle')}
              {notAdded > 0 && ` (${say('plants.notAddedCount', { count: notAdded })})`}
            </span>
            {notAdded > 0 && (
              <span class="badge" aria-hidden="true">
                {notAdded}
              </span>
            )}
          </button>
        )}
        {!isBeginning && (
          <button
            type="button"
            class="tool-switch"
            aria-expanded={!isFolded.value}
            aria-controls="tools"
            onClick={() => {
              isFolded.value = !isFolded.value
            }}
          >
            <Icon name="tools" /> <span class="word">{say('plants.tools')}</span>
          </button>
        )}
        <div id="tools" class={isFolded.value ? 'tools folded' : 'tools'}>
          {!isBeginning && (
            <>
              <TagFilter
                client={client}
                list={changes === undefined ? undefined : list}
                chosen={filter.tags}
                onChange={(tags) => change({ tags })}
              />
              <SavedSearches filter={filter} onChoose={change} />
              <ExportPlants client={client} filter={filter} />
              <a class="button" href={linkTo('labels', queryFor({ ...filter, sort: 'id' }))}>
                {say('plants.printLabels')}
              </a>
              <a class="button" href={linkTo('stocktake', queryFor({ ...filter, sort: 'id' }))}>
                {say(stocktake.value === undefined ? 'view.stocktake' : 'stocktake.goOn')}
              </a>
              <a class="button" href={linkTo('duplicates')}>
                {say('view.duplicates')}
              </a>
            </>
          )}
          {changes !== undefined && <DoneActions client={client} list={list} />}
        </div>
      </search>
      {isAdding.value && (
        <>
          <NotAdded view="plant" />
          <AddPlant client={client} list={list} />
        </>
      )}
      {changes !== undefined && <Unfinished list={list} changes={changes} />}
      {!isBeginning && <Matches client={client} list={list} filter={filter} />}
      <SelectionBar
        client={client}
        list={list}
        filter={filter}
        selection={selection}
        mayWrite={changes !== undefined}
      />
      {!isBeginning && (
        <PlantGrid
          list={list}
          filter={filter}
          onSort={(sort) => change({ sort })}
          changes={changes}
          selection={selection}
        />
      )}
      <Foot list={list} filter={filter} />
      {changes !== undefined && isBeginning && <Beginning onAdd={() => (isAdding.value = true)} />}
    </>
  )
}

/** Leads from an empty store to its first plants. */
function Beginning({ onAdd }: { readonly onAdd: () => void }): JSX.Element {
  return (
    <ul class="beginning">
      <li class="card">
        <a href={linkTo('import')}>{say('begin.import')}</a>
        <p>{say('begin.importNote')}</p>
      </li>
      <li class="card">
        <button type="button" onClick={onAdd}>
          {say('begin.enter')}
        </button>
        <p>{say('begin.enterNote')}</p>
      </li>
      <li class="card">
        <a href={linkTo('labels')}>{say('begin.labels')}</a>
        <p>{say('begin.labelsNote')}</p>
      </li>
    </ul>
  )
}

/** Says why the table is empty. */
function nothingFor(filter: Filter): string {
  const id = idSought(filter.q)
  if (id !== null && filter.tags.length === 0) return say('stocktake.isNew', { id })
  return say(isAll(filter) ? 'plants.none' : 'plants.noMatch')
}

/** Says below the last row what the list is doing, and loads the next page before the window gets there. */
function Foot({ list, filter }: { readonly list: PlantList; readonly filter: Filter }): JSX.Element {
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
  const isEmpty = list.chunks.value.every(({ plants }) => plants.length === 0)
  return (
    <div ref={place} class={isEmpty ? 'foot nothing' : 'foot'} tabIndex={-1}>
      {state === 'failed' && <Fault text={list.fault.value} onRetry={() => list.retry()} />}
      <p role="status">
        {state === 'searching' && isEmpty && say('plants.searching')}
        {state === 'loading' && say('plants.readingMore')}
        {state === 'whole' && isEmpty && nothingFor(filter)}
        {state === 'whole' && !isEmpty && say('plants.all')}
      </p>
    </div>
  )
}
