import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { linkTo, replaceQuery, route } from '../route.ts'
import type { ViewProps } from '../views.ts'
import { AddPlant } from './add-plant.tsx'
import { PlantChanges } from './changes.ts'
import { ExportPlants } from './export-plants.tsx'
import { type Filter, filterIn, isAll, queryFor } from './filter.ts'
import { isNear } from './near.ts'
import { PlantGrid } from './plant-grid.tsx'
import { PlantList } from './plant-list.ts'
import { TagFilter } from './tag-filter.tsx'
import { Unfinished } from './unfinished.tsx'

export function PlantsView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  const { query } = route.value
  const filter = useMemo(() => filterIn(query), [query])
  const list = useMemo(() => new PlantList(client), [client])
  const changes = useMemo(() => (may('plants:write') ? new PlantChanges(client, list) : undefined), [client, list])
  const isAdding = useSignal(false)
  useEffect(() => list.show(filter), [list, filter])
  useEffect(() => () => list.stop(), [list])
  const change = (part: Partial<Filter>) => replaceQuery(queryFor({ ...filter, ...part }))
  return (
    <>
      <h1 class="hidden">Plants</h1>
      <search class="toolbar">
        <label class="hidden" for="search">
          Search plants
        </label>
        <input
          id="search"
          type="search"
          placeholder="Search names, tags and ids"
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={filter.q}
          onInput={(event) => change({ q: event.currentTarget.value })}
        />
        <TagFilter client={client} chosen={filter.tags} onChange={(tags) => change({ tags })} />
        <ExportPlants client={client} filter={filter} />
        <a class="button" href={linkTo('labels', queryFor({ ...filter, sort: 'id' }))}>
          Print labels
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
            Add a plant
          </button>
        )}
      </search>
      {isAdding.value && <AddPlant client={client} list={list} />}
      {changes !== undefined && <Unfinished list={list} changes={changes} />}
      <PlantGrid list={list} filter={filter} onSort={(sort) => change({ sort })} changes={changes} />
      <Foot list={list} filter={filter} />
    </>
  )
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
    <div ref={place} class="foot" tabIndex={-1}>
      {state === 'failed' && (
        <p role="alert">
          {list.fault.value}{' '}
          <button type="button" onClick={() => list.retry()}>
            Try again
          </button>
        </p>
      )}
      <p role="status">
        {state === 'searching' && isEmpty && 'Searching …'}
        {state === 'loading' && 'Reading more …'}
        {state === 'whole' && isEmpty && (isAll(filter) ? 'There are no plants yet.' : 'No plant matches.')}
        {state === 'whole' && !isEmpty && 'That is all.'}
      </p>
    </div>
  )
}
