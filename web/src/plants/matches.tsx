import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { PlantstoreClient } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { isAbort, said } from '../said.ts'
import { Sentence } from '../sentence.tsx'
import { plantsIn } from './bulk/done.tsx'
import { type Filter, wantedBy } from './filter.ts'
import type { PlantList } from './plant-list.ts'

interface MatchesProps {
  readonly client: PlantstoreClient
  readonly list: PlantList
  readonly filter: Filter
}

/** Plants that the page counts unasked: those of one request. */
const PAGE = 1000
/** ms without a new search before the page counts, so that typing causes no further requests. */
const PAUSE = 400
const LF = 10

/** Says how many plants match. Counts more than a thousand only if the person asks: the service reads all of them. */
export function Matches({ client, list, filter }: MatchesProps): JSX.Element {
  const found = useSignal<number | 'many' | undefined>(undefined)
  const counting = useSignal<number | undefined>(undefined)
  const fault = useSignal('')
  const ending = useRef(new AbortController())
  const isWhole = list.state.value === 'whole'
  useEffect(() => {
    ending.current = new AbortController()
    const { signal } = ending.current
    found.value = undefined
    counting.value = undefined
    fault.value = ''
    if (isWhole) return () => ending.current.abort()
    const count = async () => {
      try {
        const { items, next } = await client.listPlants({ ...wantedBy(filter), limit: PAGE }, { signal }).page()
        found.value = next === undefined ? items.length : 'many'
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
      found.value = counting.value
    } catch (error) {
      if (isAbort(error) || signal.aborted) return
      fault.value = say('matches.notCounted', { why: said(error) })
    }
    counting.value = undefined
  }
  const shown = list.chunks.value.reduce((sum, { plants }) => sum + plants.length, 0)
  const count = isWhole ? shown : found.value
  return (
    <p class="matches">
      <span role="status">
        {list.state.value === 'failed' && shown > 0 && !list.shows(filter) && say('plants.stale')}
        {counting.value !== undefined && say('matches.counting', { plants: plantsIn(counting.value) })}
        {counting.value === undefined && count === 'many' && say('matches.moreThan', { plants: plantsIn(PAGE) })}
        {counting.value === undefined && typeof count === 'number' && count > 0 && plantsIn(count)}
      </span>
      {count === 'many' && counting.value === undefined && (
        <button type="button" class="quiet" onClick={() => void countAll()}>
          {say('matches.count')}
        </button>
      )}
      {fault.value !== '' && (
        <span role="alert">
          <Sentence text={fault.value} />
        </span>
      )}
    </p>
  )
}
