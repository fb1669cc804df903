import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { PlantstoreClient, StoredPlant } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'
import { tell } from '../notices.tsx'
import { findById, withFirst } from '../plants/by-id.ts'
import { isAbort, said } from '../said.ts'
import { Fault } from '../sentence.tsx'
import { add, addAll, chosen, isChosen, labelOf, MOST_LABELS, remove } from './chosen.ts'

const SHOWN = 20

interface ChooseProps {
  readonly client: PlantstoreClient
  /** The plant from whose view the person comes: the page chooses this plant at once. */
  readonly id: string | null
  /** The filter of the table of plants, if the person comes from there. */
  readonly tags: readonly string[]
  readonly text: string
}

/** Finds plants and chooses some of them, or all that match. */
export function ChoosePlants({ client, id, tags, text }: ChooseProps): JSX.Element {
  const q = useSignal(text)
  const found = useSignal<readonly StoredPlant[]>([])
  const hasMore = useSignal(false)
  const fault = useSignal('')
  const unfound = useSignal('')
  const tries = useSignal(0)
  const isAdding = useSignal(false)
  const ending = useMemo(() => new AbortController(), [])
  const query = { q: q.value.trim() === '' ? undefined : q.value, tag: tags.length === 0 ? undefined : tags }
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
        const listing = client.listPlants({ ...query, limit: SHOWN }, { signal: ended.signal })
        const byId = findById(client, { q: q.value, tags }, ended.signal)
        const [first, { items, next }] = await Promise.all([byId, listing.page()])
        found.value = withFirst(first, items)
        hasMore.value = next !== undefined
        unfound.value = ''
      } catch (error) {
        if (!isAbort(error) && !ended.signal.aborted) unfound.value = said(error)
      }
    }
    void search()
    return () => ended.abort()
  }, [client, q.value, tags.join('\n'), tries.value])
  const choose = (plant: StoredPlant, isOn: boolean) => {
    if (!isOn) remove(plant.id)
    else if (add([labelOf(plant)]) > 0) tellFull()
  }
  const chooseAll = async () => {
    if (isAdding.value) return
    isAdding.value = true
    try {
      const first = await findById(client, { q: q.value, tags }, ending.signal)
      const isFull = first !== undefined && add([labelOf(first)]) > 0
      if (isFull || (await addAll(client, query, ending.signal))) tellFull()
    } catch (error) {
      if (!isAbort(error)) fault.value = say('labels.notAll', { why: said(error) })
    } finally {
      isAdding.value = false
    }
  }
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
        {found.value.length === 0 && say('plants.noMatch')}
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

const tellFull = (): void => tell(say('labels.full', { most: MOST_LABELS }), { isError: true })
