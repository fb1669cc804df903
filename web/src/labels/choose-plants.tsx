import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { tell } from '../page/notices.tsx'
import { replaceQuery, route } from '../page/route.ts'
import { isAbort, said } from '../page/said.ts'
import { Fault } from '../page/sentence.tsx'
import { findById, withFirst } from '../plants/by-id.ts'
import {
  add,
  addAll,
  CHOOSE_ALL,
  chosen,
  clearChosen,
  isChosen,
  labelOf,
  MOST_CHOSEN,
  remove,
} from '../plants/chosen-labels.ts'
import { type Filter, wantedBy } from '../plants/filter.ts'
import { shownGroup } from '../plants/tag-chip.tsx'

const SHOWN = 20

interface ChooseProps {
  readonly client: PlantstoreClient
  /** The plant from whose view the person comes: the page chooses this plant at once. */
  readonly id: string | null
  /** The filter of the table of plants, if the person comes from there. */
  readonly filter: Filter
  /** Whether to choose all that match at once. */
  readonly isForAll: boolean
  /** Whether the page is adding all that match. */
  readonly isAdding: Signal<boolean>
}

/** Finds plants and chooses some of them, or all that match. */
export function ChoosePlants({ client, id, filter, isForAll, isAdding }: ChooseProps): JSX.Element {
  const q = useSignal(filter.q)
  const found = useSignal<readonly StoredPlant[]>([])
  const hasRead = useSignal(false)
  const hasMore = useSignal(false)
  const fault = useSignal('')
  const unfound = useSignal('')
  const tries = useSignal(0)
  const ending = useMemo(() => new AbortController(), [])
  const wanted = { ...filter, q: q.value }
  useEffect(() => {
    const choose = async () => {
      try {
        if (id !== null) add([labelOf((await client.getPlant(BigInt(id), { signal: ending.signal })).plant)])
      } catch (error) {
        if (!isAbort(error)) fault.value = say('labels.unread', { id: id ?? '', why: said(error) })
      }
    }
    void choose()
    return () => ending.abort()
  }, [client, id, ending])
  useEffect(() => {
    const ended = new AbortController()
    const search = async () => {
      try {
        const listing = client.listPlants({ ...wantedBy(wanted), limit: SHOWN }, { signal: ended.signal })
        const byId = findById(client, wanted, ended.signal)
        const [first, { items, next }] = await Promise.all([byId, listing.page()])
        found.value = withFirst(first, items)
        hasRead.value = true
        hasMore.value = next !== undefined
        unfound.value = ''
      } catch (error) {
        if (!isAbort(error) && !ended.signal.aborted) unfound.value = said(error)
      }
    }
    void search()
    return () => ended.abort()
  }, [client, q.value, filter, tries.value])
  const tags = filter.tagPrefix === undefined ? filter.tags : [shownGroup(filter.tagPrefix)]
  const choose = (plant: StoredPlant, isOn: boolean) => {
    if (!isOn) remove(plant.id)
    else if (add([labelOf(plant)]) > 0) tellFull()
  }
  const chooseAll = async () => {
    if (isAdding.peek()) return
    isAdding.value = true
    try {
      const first = await findById(client, wanted, ending.signal)
      const isFull = first !== undefined && add([labelOf(first)]) > 0
      if (isFull || (await addAll(client, wantedBy(wanted), ending.signal))) tellFull()
    } catch (error) {
      if (!isAbort(error)) fault.value = say('labels.notAll', { why: said(error) })
    } finally {
      isAdding.value = false
    }
  }
  useEffect(() => {
    if (!isForAll) return
    clearChosen()
    void chooseAll()
    // The person may remove some, and come back to this address.
    const { query: now } = route.peek()
    now.delete(CHOOSE_ALL)
    replaceQuery(now)
  }, [isForAll])
  return (
    <fieldset>
      <legend>{say('view.plants')}</legend>
      <div class="field">
        <label for="label-search">{say('plants.search')}</label>
        <input
          id="label-search"
          type="search"
          dir="auto"
          autocomplete="off"
          spellcheck={false}
          value={q.value}
          onInput={(event) => {
            q.value = event.currentTarget.value
          }}
        />
      </div>
      {filter.untagged === true && <p class="note">{say('labels.onlyUntagged')}</p>}
      {tags.length > 0 && (
        <p class="note">
          {sayWith('labels.onlyTags', { count: tags.length, tags: <bdi translate={false}>{tags.join(', ')}</bdi> })}
        </p>
      )}
      <Fault text={fault.value} />
      <Fault
        text={unfound.value}
        onRetry={() => {
          tries.value += 1
        }}
      />
      <ul class="found">
        {found.value.map((plant) => (
          <li key={String(plant.id)}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.value.length > 0 && isChosen(plant.id)}
                onChange={(event) => choose(plant, event.currentTarget.checked)}
              />
              <bdi translate={false}>{plant.name.slice(0, 200)}</bdi>{' '}
              <span class="count" translate={false}>
                {String(plant.id)}
              </span>
            </label>
          </li>
        ))}
      </ul>
      <p role="status" class="note">
        {hasRead.value && found.value.length === 0 && say('plants.noMatch')}
        {hasMore.value && say('labels.first', { most: SHOWN })}
      </p>
      <button
        type="button"
        disabled={found.value.length === 0}
        aria-disabled={isAdding.value}
        onClick={() => void chooseAll()}
      >
        {say(isAdding.value ? 'plants.adding' : 'labels.addAll')}
      </button>
    </fieldset>
  )
}

const tellFull = (): void => tell(say('labels.full', { most: MOST_CHOSEN }), { isError: true })
