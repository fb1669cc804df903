import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say, sayOf } from '../../language/language.ts'
import { Button, Field, submitting } from '../../page/controls.tsx'
import { closeOnEscape } from '../../page/focus.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { type Filter, isAll, queryFor } from '../list/filter.ts'
import {
  deleteSearch,
  filterOf,
  LONGEST_NAME,
  renameSearch,
  type SavedSearch,
  type Saving,
  savedSearches,
  saveSearch,
} from './saved-searches.ts'

interface SavedProps {
  readonly filter: Filter
  readonly onChoose: (filter: Filter) => void
}

/** Lists the saved searches, to choose, rename and delete them, and saves the present one. */
export function SavedSearches({ filter, onChoose }: SavedProps): JSX.Element {
  const fault = useSignal('')
  const renamed = useSignal<SavedSearch | undefined>(undefined)
  const panel = useRef<HTMLDetailsElement>(null)
  const isDone = (saving: Saving): boolean => {
    fault.value = saving === 'saved' ? '' : say(FAULTS[saving])
    return saving === 'saved'
  }
  const choose = (search: SavedSearch) => {
    onChoose(filterOf(search))
    if (panel.current === null) return
    panel.current.open = false
    panel.current.querySelector('summary')?.focus()
  }
  const remove = (search: SavedSearch) => {
    if (!isDone(deleteSearch(search))) return
    const undo = { label: say('plants.undo'), run: () => void saveSearch(search.name, filterOf(search)) }
    tell(say('searches.deleted', { name: named(search.name) }), { action: undo })
  }
  const present = queryFor(filter).toString()
  return (
    <details ref={panel} onKeyDown={closeOnEscape}>
      <summary>{say('searches.title')}</summary>
      <div class="panel">
        <ul class="searches">
          {savedSearches.value.map((search) => (
            <li key={search.name}>
              {renamed.value === search ? (
                <NameForm
                  search={search}
                  onName={(next) => {
                    const isRenamed = isDone(renameSearch(search, next))
                    if (isRenamed) renamed.value = undefined
                    return isRenamed
                  }}
                  onCancel={() => (renamed.value = undefined)}
                />
              ) : (
                <Search
                  search={search}
                  isPresent={search.query === present}
                  onChoose={() => choose(search)}
                  onRename={() => (renamed.value = search)}
                  onDelete={() => remove(search)}
                />
              )}
            </li>
          ))}
        </ul>
        {isAll(filter) ? (
          <p class="note">{say('searches.hint')}</p>
        ) : (
          <NameForm onName={(name) => isDone(saveSearch(name, filter))} />
        )}
        {fault.value !== '' && <p role="alert">{fault.value}</p>}
      </div>
    </details>
  )
}

const FAULTS = { full: 'searches.full', 'too-long': 'searches.tooLong', 'no-room': 'searches.noRoom' } as const

interface SearchProps {
  readonly search: SavedSearch
  readonly isPresent: boolean
  readonly onChoose: () => void
  readonly onRename: () => void
  readonly onDelete: () => void
}

function Search({ search, isPresent, onChoose, onRename, onDelete }: SearchProps): JSX.Element {
  return (
    <>
      <button type="button" class="quiet search" aria-current={isPresent ? 'true' : undefined} onClick={onChoose}>
        <bdi translate={false}>{search.name}</bdi>
      </button>
      <Button text={say('tags.rename')} class="quiet" of={search.name} onClick={onRename} />
      <Button text={say('plants.delete')} class="quiet" of={search.name} onClick={onDelete} />
    </>
  )
}

interface NameFormProps {
  /** The search that gets another name; undefined: the present one gets its first. */
  readonly search?: SavedSearch
  /** @returns whether the device keeps it */
  readonly onName: (name: string) => boolean
  readonly onCancel?: () => void
}

/** Asks for the name of a search. */
function NameForm({ search, onName, onCancel }: NameFormProps): JSX.Element {
  const name = useSignal(search?.name ?? '')
  const place = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (search === undefined) return
    place.current?.focus()
    place.current?.select()
  }, [])
  return (
    <form
      class="fields"
      onSubmit={submitting(() => {
        if (name.value.trim() !== '' && onName(name.value)) name.value = ''
      })}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || onCancel === undefined) return
        event.stopPropagation()
        onCancel()
      }}
    >
      <Field
        id={search === undefined ? 'search-name' : 'search-rename'}
        label={search === undefined ? say('searches.saveAs') : sayOf('tags.rename', search.name)}
        isWide
        place={place}
        required
        maxLength={LONGEST_NAME}
        value={name.value}
        onText={(text) => (name.value = text)}
      />
      <Button text={say(search === undefined ? 'plants.save' : 'tags.rename')} type="submit" />
    </form>
  )
}
