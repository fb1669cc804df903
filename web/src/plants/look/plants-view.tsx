import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { hasTagging } from '../../../../src/domain/plant-query.ts'
import { say } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { SeenLine } from '../../offline/seen-line.tsx'
import { onSent } from '../../offline/waiting.ts'
import { Icon } from '../../page/icon.tsx'
import { linkTo, replaceQuery, route } from '../../page/route.ts'
import { Fault } from '../../page/sentence.tsx'
import type { ViewProps } from '../../session/session.ts'
import { AddPlant } from '../change/add-plant.tsx'
import { PlantChanges } from '../change/changes.ts'
import { entered, NotAdded } from '../change/enter-plant.tsx'
import { isTyped, typed } from '../change/new-plant.ts'
import { Unfinished } from '../change/unfinished.tsx'
import { Matches, useCount } from '../find/matches.tsx'
import { SavedSearches } from '../find/saved-searches-panel.tsx'
import { SearchField } from '../find/search-field.tsx'
import { TagFilter } from '../find/tag-filter.tsx'
import { TagOffer } from '../find/tag-offer.tsx'
import { idSought } from '../list/by-id.ts'
import { ANY_TAG, type Filter, filterIn, isAll, queryFor } from '../list/filter.ts'
import { follow } from '../list/live.ts'
import { PlantList } from '../list/plant-list.ts'
import { Selection } from '../list/selection.ts'
import { walk } from '../list/walk.ts'
import { queryForLabels } from '../many/chosen-labels.ts'
import { ExportPlants } from '../many/export-plants.tsx'
import { SelectionBar } from '../many/selection-bar.tsx'
import { isNear, PlantGrid } from './plant-grid.tsx'

interface PlantsProps extends ViewProps {
  /** Whether this device keeps a stocktake that has begun. */
  readonly isCounting: boolean
}

export function PlantsView({ session, isCounting }: PlantsProps): JSX.Element {
  const { client, may } = session
  const { query } = route.value
  const filter = useMemo(() => filterIn(query), [query])
  const list = useMemo(() => new PlantList(client), [client])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(session, list) : undefined), [session, list])
  const selection = useMemo(() => new Selection(), [list])
  const isAdding = useSignal(false)
  /** On a narrow window; a wide one shows the tools in any case. */
  const isFolded = useSignal(true)
  useEffect(() => list.show(filter), [list, filter])
  useEffect(() => selection.keepOnly(filter), [selection, filter])
  useEffect(() => () => list.stop(), [list])
  useEffect(() => follow(client, list, session.own.id), [client, list])
  useEffect(() => onSent((id, content) => list.take(id, content)), [list])
  useEffect(() => {
    walk.value = { query: queryFor(filter), ids: list.chunks.value.flatMap(({ plants }) => plants.map(({ id }) => id)) }
  }, [filter, list.chunks.value])
  const count = useCount(client, list, filter)
  const change = (part: Partial<Filter>) => replaceQuery(queryFor({ ...filter, ...part }))
  const isEmpty = list.chunks.value.every(({ plants }) => plants.length === 0)
  const notAdded = entered.value.length + (isTyped() && !isAdding.value ? 1 : 0)
  const isNothing = isEmpty && list.state.value === 'whole'
  const isBeginning = isNothing && isAll(filter)
  return (
    <>
      <h1 class="hidden">{say('view.plants')}</h1>
      <search class="toolbar">
        <SearchField id="search" q={filter.q} onSearch={(q) => change({ q })}>
          <a href={linkTo('scan')} aria-label={say('view.scan')}>
            <Icon name="camera" />
          </a>
        </SearchField>
        {!hasTagging(filter) && (
          <TagOffer client={client} q={filter.q} onChoose={(tag) => change({ q: '', tags: [tag] })} />
        )}
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
        {changes !== undefined && (
          <a class="button" href={linkTo('actions')}>
            <Icon name="undo" /> <span class="word">{say('view.actions')}</span>
          </a>
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
                chosen={filter}
                onChange={change}
              />
              <SavedSearches filter={filter} onChoose={change} />
              <ExportPlants client={client} filter={filter} />
              <a class="button" href={linkTo('labels', isAll(filter) ? undefined : queryForLabels(filter))}>
                {say('plants.printLabels')}
              </a>
              <a class="button" href={linkTo('stocktake', queryFor({ ...filter, sort: 'id' }))}>
                {say(isCounting ? 'stocktake.goOn' : 'stocktake.these')}
              </a>
              <a class="button" href={linkTo('duplicates')}>
                {say('view.duplicates')}
              </a>
            </>
          )}
        </div>
      </search>
      {isAdding.value && (
        <>
          <NotAdded view="plant" />
          <AddPlant session={session} list={list} onCancel={() => (isAdding.value = false)} />
        </>
      )}
      {changes !== undefined && <Unfinished list={list} changes={changes} />}
      <SeenLine since={list.seenSince.value} />
      <SelectionBar
        client={client}
        list={list}
        filter={filter}
        selection={selection}
        total={count.total}
        mayWrite={changes !== undefined}
      />
      {!isNothing && (
        <div class="list">
          <Matches list={list} filter={filter} {...count} />
          <PlantGrid
            list={list}
            filter={filter}
            onSort={(sort) => change({ sort })}
            changes={changes}
            selection={selection}
          />
        </div>
      )}
      <Foot list={list} filter={filter}>
        {isNothing && !isBeginning && (
          <NoMatch
            filter={filter}
            onChange={change}
            onAdd={
              changes &&
              ((name) => {
                typed.value = { ...typed.value, name }
                isAdding.value = true
              })
            }
          />
        )}
      </Foot>
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
      {words !== '' && (
        <button type="button" onClick={() => onChange({ q: '' })}>
          {say('plants.clearSearch')}
        </button>
      )}
      {hasTagging(filter) && (
        <button type="button" onClick={() => onChange(ANY_TAG)}>
          {say('plants.allTags')}
        </button>
      )}
      {onAdd !== undefined && id !== null && (
        <a class="button" href={linkTo('plant', new URLSearchParams({ id: String(id) }))}>
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
      {children}
    </div>
  )
}
