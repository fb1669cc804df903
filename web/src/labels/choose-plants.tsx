import { type Signal, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { Button, Check, Field } from '../page/controls.tsx'
import { tell } from '../page/notices.tsx'
import { useRequest } from '../page/request.ts'
import { replaceQuery, route } from '../page/route.ts'
import { Fault } from '../page/sentence.tsx'
import { findById, withFirst } from '../plants/list/by-id.ts'
import { type Filter, wantedBy } from '../plants/list/filter.ts'
import { shownGroup } from '../plants/list/shown-tag.ts'
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
} from '../plants/many/chosen-labels.ts'

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
  const wanted = { ...filter, q: q.value }
  const first = useRequest((why) => say('page.unread', { why }))
  const all = useRequest((why) => say('page.unread', { why }))
  const search = useRequest()
  const found = useSignal<{ readonly plants: readonly StoredPlant[]; readonly hasMore: boolean } | undefined>(undefined)
  useEffect(() => {
    if (id === null) return
    void first.run(async (signal) => {
      add([labelOf((await client.getPlant(BigInt(id), { signal })).plant)])
    })
  }, [client, id])
  const read = () =>
    void search.run(async (signal) => {
      const listing = client.listPlants({ ...wantedBy(wanted), limit: SHOWN }, { signal })
      const [byId, { items, next }] = await Promise.all([findById(client, wanted, signal), listing.page()])
      if (!signal.aborted) found.value = { plants: withFirst(byId, items), hasMore: next !== undefined }
    })
  useEffect(read, [client, q.value, filter])
  const chooseAll = () =>
    all.once(async (signal) => {
      isAdding.value = true
      try {
        const byId = await findById(client, wanted, signal)
        const isFull = byId !== undefined && add([labelOf(byId)]) > 0
        if (isFull || (await addAll(client, wantedBy(wanted), signal))) tellFull()
      } finally {
        isAdding.value = false
      }
    })
  useEffect(() => {
    if (!isForAll) return
    clearChosen()
    void chooseAll()
    // The person may remove some, and come back to this address.
    const { query: now } = route.peek()
    now.delete(CHOOSE_ALL)
    replaceQuery(now)
  }, [isForAll])
  const plants = found.value?.plants ?? []
  return (
    <fieldset>
      <legend>{say('view.plants')}</legend>
      <Search text={q} filter={filter} />
      <Fault text={first.fault.value} />
      <Fault text={all.fault.value} />
      <Fault text={search.fault.value} onRetry={read} />
      <Found plants={plants} />
      <p role="status" class="note">
        {found.value?.plants.length === 0 && say('plants.noMatch')}
        {found.value?.hasMore === true && say('labels.first', { most: SHOWN })}
      </p>
      <Button
        text={say('labels.addAll')}
        disabled={plants.length === 0}
        isBusy={isAdding.value}
        onClick={() => void chooseAll()}
      />
    </fieldset>
  )
}

/** Takes words, and says within which tags they are searched. */
function Search({ text, filter }: { readonly text: Signal<string>; readonly filter: Filter }): JSX.Element {
  const tags = filter.tagPrefix === undefined ? filter.tags : [shownGroup(filter.tagPrefix)]
  return (
    <>
      <Field
        id="label-search"
        label={say('plants.searchTitle')}
        type="search"
        spellcheck={false}
        value={text.value}
        onText={(typed) => (text.value = typed)}
      />
      {filter.untagged === true && <p class="note">{say('stocktake.untagged')}</p>}
      {tags.length > 0 && (
        <p class="note">{sayWith('stocktake.tagged', { tags: <bdi translate={false}>{tags.join(', ')}</bdi> })}</p>
      )}
    </>
  )
}

function Found({ plants }: { readonly plants: readonly StoredPlant[] }): JSX.Element {
  const choose = (plant: StoredPlant, isOn: boolean) => {
    if (!isOn) remove(plant.id)
    else if (add([labelOf(plant)]) > 0) tellFull()
  }
  return (
    <ul class="plain found">
      {plants.map((plant) => (
        <li key={String(plant.id)}>
          <Check isOn={chosen.value.length > 0 && isChosen(plant.id)} onChange={(isOn) => choose(plant, isOn)}>
            <bdi translate={false}>{plant.name.slice(0, 200)}</bdi>{' '}
            <span class="count" translate={false}>
              {String(plant.id)}
            </span>
          </Check>
        </li>
      ))}
    </ul>
  )
}

const tellFull = (): void => tell(say('labels.full', { most: MOST_CHOSEN }), { isError: true })
