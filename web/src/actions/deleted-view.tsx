import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ChangeEntry, Listing, StoredPlant } from '../../../client/src/index.ts'
import { say, timeOf } from '../language/language.ts'
import { newAction } from '../offline/new-action.ts'
import { type OfMany, submitMany } from '../offline/send-many.ts'
import { Button, Check } from '../page/controls.tsx'
import { focusMain } from '../page/focus.ts'
import { usePages } from '../page/pages.tsx'
import { useRequest } from '../page/request.ts'
import { linkTo, queryOf } from '../page/route.ts'
import { Fault } from '../page/sentence.tsx'
import { Time } from '../page/time.tsx'
import { SearchField } from '../plants/find/search-field.tsx'
import { Selection } from '../plants/list/selection.ts'
import { shownTag } from '../plants/list/shown-tag.ts'
import { Conflicts } from '../plants/many/done.tsx'
import { tellDone } from '../plants/many/undo-dialog.tsx'
import { By } from '../session/by.tsx'
import type { ViewProps } from '../session/session.ts'

const PAGE = 100

/** Lists what is deleted now, as far as the log of changes goes, and brings plants back as they were. */
export function DeletedView({ session }: ViewProps): JSX.Element {
  const { client, may } = session
  const q = useSignal('')
  const since = useSignal<string | undefined>(undefined)
  const selection = useMemo(() => new Selection(), [])
  const done = useSignal<OfMany | undefined>(undefined)
  const list = (signal: AbortSignal) =>
    filled(
      client.listDeletedPlants({ q: q.value.trim() === '' ? undefined : q.value, limit: PAGE }, { signal }),
      (at) => {
        since.value = at
      },
    )
  const [read, entries, more, fault, isOff] = usePages(list, q.value)
  const plants = entries?.flatMap(({ before }) => before ?? []) ?? []
  const { isBusy, run } = useRequest((why) => why)
  const chosen = selection.targets()
  const wanted = chosen.kind === 'chosen' ? chosen.plants : []
  const bringBack = () =>
    run(async (signal) => {
      const changes = wanted.map((plant) => ({ id: plant.id, base: null, wanted: plant }))
      const made = await submitMany(session, changes, newAction(say('deleted.bringBack')), () => {}, signal)
      selection.clear()
      await read()
      done.value = made
      const count = made.done.length
      tellDone({ reload: read }, count > 0 ? say('deleted.broughtBack', { count }) : '', made)
      focusMain()
    })
  return (
    <>
      <h1>{say('view.deleted')}</h1>
      <p>
        {say('deleted.note')} <a href={linkTo('actions')}>{say('view.actions')}</a>
      </p>
      <search class="toolbar">
        <SearchField
          id="search"
          q={q.value}
          onSearch={(text) => {
            q.value = text
            selection.clear()
          }}
        />
      </search>
      {may('plants:write') && plants.length > 0 && (
        <BringBack plants={plants} selection={selection} isBusy={isBusy.value} onRun={() => void bringBack()} />
      )}
      {done.value !== undefined && <Conflicts conflicts={done.value.conflicts} />}
      <Fault text={isOff ? say('actions.off') : done.value?.fault || fault} onRetry={read} />
      <ol class="rows actions deleted">
        {entries?.map((entry) => (
          <Row key={entry.position} entry={entry} selection={may('plants:write') ? selection : undefined} />
        ))}
      </ol>
      {more}
      <End isEmpty={entries?.length === 0 && more === null} since={since.value} />
    </>
  )
}

/** Says until when the list reaches. */
const End = ({ isEmpty, since }: { readonly isEmpty: boolean; readonly since: string | undefined }): JSX.Element => (
  <p role="status" class="note">
    {isEmpty && say('deleted.none')} {since !== undefined && say('deleted.since', { time: timeOf(since, 'short') })}
  </p>
)

/** Pages that the service sends without an entry, because it looks at a bounded part of the log for each. */
const MOST_EMPTY = 20

/** A list whose pages have an entry, unless the service finds none for long. */
const filled = <Item,>(
  listing: Listing<Item>,
  onSince: (since: string | undefined) => void,
): Pick<Listing<Item>, 'page'> => ({
  async page(at) {
    let page = await listing.page(at)
    for (let tries = 0; page.items.length === 0 && page.next !== undefined && tries < MOST_EMPTY; tries++) {
      page = await listing.page(page.next)
    }
    onSince(page.since)
    return page
  },
})

interface BringBackProps {
  readonly plants: readonly StoredPlant[]
  readonly selection: Selection
  readonly isBusy: boolean
  readonly onRun: () => void
}

function BringBack({ plants, selection, isBusy, onRun }: BringBackProps): JSX.Element {
  const count = selection.count.value ?? 0
  const left = plants.filter(({ id }) => !selection.has(id))
  return (
    <p class="fields">
      <Check
        isOn={left.length === 0}
        onChange={() => {
          if (left.length === 0) selection.clear()
          else for (const plant of left) selection.toggle(plant)
        }}
      >
        {say('deleted.selectAll')}
      </Check>
      <Button text={say('deleted.bringBack')} class="primary" disabled={count === 0 || isBusy} onClick={onRun} />
      <span role="status">{count > 0 && say('bulk.selected', { count })}</span>
    </p>
  )
}

interface RowProps {
  readonly entry: ChangeEntry
  /** undefined: the token may not change plants. */
  readonly selection: Selection | undefined
}

function Row({ entry: { before, time, token }, selection }: RowProps): JSX.Element | null {
  if (before === undefined) return null
  const { id, name, tag } = before
  return (
    <li>
      {selection !== undefined && (
        <label>
          <input
            type="checkbox"
            aria-label={say('plants.selectOf', { id: String(id) })}
            checked={selection.has(id)}
            onChange={() => selection.toggle(before)}
          />
        </label>
      )}
      <div>
        <p>
          <a href={linkTo('plant', queryOf(id))}>{String(id)}</a>{' '}
          <strong dir="auto" translate={false}>
            {name}
          </strong>{' '}
          {tag !== undefined && <bdi translate={false}>{shownTag(tag)}</bdi>}
        </p>
        <p class="note">
          <Time at={time} /> <By token={token} />
        </p>
      </div>
    </li>
  )
}
