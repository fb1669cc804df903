import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { Button } from '../page/controls.tsx'
import { useRequest } from '../page/request.ts'
import { replaceQuery, route } from '../page/route.ts'
import { Fault } from '../page/sentence.tsx'
import { SavedSearches } from '../plants/find/saved-searches-panel.tsx'
import { SearchField } from '../plants/find/search-field.tsx'
import { TagFilter } from '../plants/find/tag-filter.tsx'
import { type Filter, filterIn, isAll, queryFor } from '../plants/list/filter.ts'
import { plantsIn } from '../plants/many/done.tsx'
import type { ViewProps } from '../session/session.ts'
import { begin } from './kept-stocktake.ts'
import { readSet } from './read-plants.ts'
import { MOST_PLANTS, Stocktake } from './stocktake.ts'

/** Asks which plants should be there, and begins the stocktake. */
export function ChooseSet({ session }: ViewProps): JSX.Element {
  const { client } = session
  const filter = filterIn(route.value.query)
  const count = useSignal(0)
  const { isBusy, fault, once, stop } = useRequest((why) => say('page.unread', { why }))
  const change = (part: Partial<Filter>) => {
    fault.value = ''
    replaceQuery(queryFor({ ...filter, ...part }))
  }
  const start = () =>
    once(async (signal) => {
      const { sort: _, ...wanted } = filter
      const onRead = (read: number) => {
        count.value = read
      }
      onRead(0)
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
    })
  return (
    <>
      <p>{say('stocktake.choose')}</p>
      <search class="toolbar">
        <SearchField id="stocktake-search" q={filter.q} onSearch={(q) => change({ q })} />
        <TagFilter session={session} list={undefined} chosen={filter} onChange={change} />
        <SavedSearches filter={filter} onChoose={change} />
      </search>
      <p class="fields">
        <Button
          text={say(isAll(filter) ? 'stocktake.beginAll' : 'stocktake.begin')}
          class="primary"
          aria-disabled={isBusy.value}
          onClick={() => void start()}
        />
        {isBusy.value && <Button text={say('import.stop')} onClick={stop} />}
      </p>
      <p role="status">
        {isBusy.value && `${say('plant.reading')} ${say('page.soFar', { plants: plantsIn(count.value) })}`}
      </p>
      <Fault text={fault.value} />
    </>
  )
}
