import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { replaceQuery, route } from '../page/route.ts'
import { isAbort, said } from '../page/said.ts'
import { Fault } from '../page/sentence.tsx'
import { plantsIn } from '../plants/bulk/done.tsx'
import { type Filter, filterIn, isAll, queryFor } from '../plants/filter.ts'
import { SavedSearches } from '../plants/saved-searches-panel.tsx'
import { SearchField } from '../plants/search-field.tsx'
import { TagFilter } from '../plants/tag-filter.tsx'
import { begin } from './kept-stocktake.ts'
import { readSet } from './read-plants.ts'
import { MOST_PLANTS, Stocktake } from './stocktake.ts'

/** Asks which plants should be there, and begins the stocktake. */
export function ChooseSet({ client }: { readonly client: PlantstoreClient }): JSX.Element {
  const filter = filterIn(route.value.query)
  const read = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  useEffect(() => () => ending.current.abort(), [])
  const change = (part: Partial<Filter>) => {
    fault.value = ''
    replaceQuery(queryFor({ ...filter, ...part }))
  }
  const start = async () => {
    ending.current = new AbortController()
    const { signal } = ending.current
    const { sort: _, ...wanted } = filter
    fault.value = ''
    read.value = 0
    const onRead = (count: number) => {
      read.value = count
    }
    try {
      const plants = await readSet(client, wanted, onRead, signal)
      if (plants === undefined) fault.value = say('stocktake.tooMany', { plants: plantsIn(MOST_PLANTS) })
      else if (plants.length === 0) fault.value = say('plants.noMatch')
      else {
        const stocktake = new Stocktake(
          wanted,
          plants.map(({ id }) => id),
          Date.now(),
        )
        stocktake.learn(plants)
        begin(stocktake)
      }
    } catch (error) {
      if (!isAbort(error)) fault.value = say('bulk.unread', { why: said(error) })
    }
    read.value = undefined
  }
  return (
    <>
      <p>{say('stocktake.choose')}</p>
      <search class="toolbar">
        <SearchField id="stocktake-search" q={filter.q} onSearch={(q) => change({ q })} />
        <TagFilter client={client} list={undefined} chosen={filter} onChange={change} />
        <SavedSearches filter={filter} onChoose={change} />
      </search>
      <p class="fields">
        <button
          type="button"
          class="primary"
          aria-disabled={read.value !== undefined}
          onClick={() => read.value === undefined && void start()}
        >
          {say(isAll(filter) ? 'stocktake.beginAll' : 'stocktake.begin')}
        </button>
        {read.value !== undefined && (
          <button type="button" onClick={() => ending.current.abort()}>
            {say('import.stop')}
          </button>
        )}
      </p>
      <p role="status">{read.value !== undefined && say('bulk.readingSoFar', { plants: plantsIn(read.value) })}</p>
      <Fault text={fault.value} />
    </>
  )
}
