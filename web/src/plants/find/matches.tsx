import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient, Total } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { Button } from '../../page/controls.tsx'
import { isAbort, said } from '../../page/said.ts'
import { Sentence } from '../../page/sentence.tsx'
import { type Filter, wantedBy } from '../list/filter.ts'
import type { PlantList } from '../list/plant-list.ts'
import { plantsIn } from '../many/done.tsx'

/** ms without a new search before the page counts, so that typing causes no further requests. */
const PAUSE = 400
const LF = 10

/** How many plants match. */
export interface Count {
  /** undefined: not known yet. */
  readonly total: Total | undefined
  /** The plants that `countAll` has read so far. */
  readonly counted: number | undefined
  readonly fault: string
  /** Reads all of them, where the service counts the matches of words up to a bound only. */
  readonly countAll: () => Promise<void>
}

/** Counts the plants that match, by the service or, where the table has all of them, there. */
export function useCount(client: PlantstoreClient, list: PlantList, filter: Filter): Count {
  const found = useSignal<Total | undefined>(undefined)
  const counting = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  // By the last change, the list has some of the plants that match.
  const isWhole = list.state.value === 'whole' && filter.sort !== '-changed'
  useEffect(() => {
    ending.current = new AbortController()
    const { signal } = ending.current
    found.value = undefined
    counting.value = undefined
    fault.value = ''
    if (isWhole) return () => ending.current.abort()
    const count = async () => {
      try {
        const list = client.listPlants({ ...wantedBy(filter), count: true, limit: 1 }, { signal })
        found.value = (await list.page()).total
      } catch {
        // The table shows the fault, and the number of plants only helps.
      }
    }
    const timer = setTimeout(() => void count(), PAUSE)
    return () => {
      clearTimeout(timer)
      ending.current.abort()
    }
  }, [client, list, list.searches.value, isWhole])
  const countAll = async () => {
    const { signal } = ending.current
    counting.value = 0
    fault.value = ''
    try {
      const stream = await client.exportFile({ ...wantedBy(filter), format: 'ndjson' }, { signal })
      for (const reader = stream.getReader(); ; ) {
        const { done, value } = await reader.read()
        if (done) break
        let lines = 0
        for (const byte of value) if (byte === LF) lines += 1
        counting.value += lines
      }
      found.value = { plants: counting.value, isExact: true }
    } catch (error) {
      if (isAbort(error) || signal.aborted) return
      fault.value = say('page.failed', { what: say('matches.count'), why: said(error) })
    }
    counting.value = undefined
  }
  const total = isWhole ? { plants: list.plants.value.length, isExact: true } : found.value
  return { total, counted: counting.value, fault: fault.value, countAll }
}

interface MatchesProps extends Omit<Count, 'countAll'> {
  /** undefined: only a token may read all of them. */
  readonly countAll: Count['countAll'] | undefined
  readonly list: PlantList
  readonly filter: Filter
}

/** Says how many plants match. */
export function Matches({ list, filter, total, counted, fault, countAll }: MatchesProps): JSX.Element {
  const isStale = list.state.value === 'failed' && list.plants.value.length > 0 && !list.shows(filter)
  return (
    <p class={isStale ? 'matches stale' : 'matches'}>
      <span role="status">
        {isStale && say('plants.stale')}
        {counted !== undefined && `${say('plant.reading')} ${say('page.soFar', { plants: plantsIn(counted) })}`}
        {counted === undefined && total !== undefined && total.plants > 0 && totalText(total)}
      </span>
      {total?.isExact === false && counted === undefined && countAll !== undefined && (
        <Button text={say('matches.count')} class="quiet" onClick={() => void countAll()} />
      )}
      {fault !== '' && (
        <span role="alert">
          <Sentence text={fault} />
        </span>
      )}
    </p>
  )
}

const totalText = ({ plants, isExact }: Total): string =>
  isExact ? plantsIn(plants) : say('matches.moreThan', { plants: plantsIn(plants) })
