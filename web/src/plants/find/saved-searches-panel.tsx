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
                <Rename
                  search={search}
                  onDone={(next) => {
                    if (next === undefined || isDone(renameSearch(search, next))) renamed.value = undefined
                  }}
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
          <Save onSave={(name) => isDone(saveSearch(name, filter))} />
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

/** @param onSave returns whether it is saved */
function Save({ onSave }: { readonly onSave: (name: string) => boolean }): JSX.Element {
  const name = useSignal('')
  return (
    <form
      class="fields"
      onSubmit={submitting(() => {
        if (name.value.trim() !== '' && onSave(name.value)) name.value = ''
      })}
    >
      <Field
        id="search-name"
        label={say('searches.saveAs')}
        isWide
        required
        maxLength={LONGEST_NAME}
        value={name.value}
        onText={(text) => (name.value = text)}
      />
      <Button text={say('plants.save')} type="submit" />
    </form>
  )
}

interface RenameProps {
  readonly search: SavedSearch
  /** @param next undefined: the search keeps its name */
  readonly onDone: (next: string | undefined) => void
}

function Rename({ search, onDone }: RenameProps): JSX.Element {
  const name = useSignal(search.name)
  const place = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    place.current?.focus()
    place.current?.select()
  }, [])
  return (
    <form
      class="fields"
      onSubmit={submitting(() => name.value.trim() !== '' && onDone(name.value))}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onDone(undefined)
      }}
    >
      <Field
        id="search-rename"
        label={sayOf('tags.rename', search.name)}
        isWide
        place={place}
        required
        maxLength={LONGEST_NAME}
        value={name.value}
        onText={(text) => (name.value = text)}
      />
      <Button text={say('tags.rename')} type="submit" />
    </form>
  )
}
