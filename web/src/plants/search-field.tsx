import type { JSX } from 'preact'
import { say } from '../language/language.ts'

interface SearchProps {
  readonly id: string
  readonly q: string
  readonly onSearch: (q: string) => void
}

/** The field for words of names and tags, for ids, and for the codes of labels. */
export function SearchField({ id, q, onSearch }: SearchProps): JSX.Element {
  return (
    <>
      <label class="hidden" for={id}>
        {say('plants.searchTitle')}
      </label>
      <input
        id={id}
        type="search"
        placeholder={say('plants.search')}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        value={q}
        onInput={(event) => onSearch(event.currentTarget.value)}
        onKeyDown={({ key, currentTarget }) => {
          // A hand scanner presses it after a code, and types the next one over this one.
          if (key === 'Enter') currentTarget.select()
        }}
      />
    </>
  )
}
