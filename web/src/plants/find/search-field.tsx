import type { ComponentChildren, JSX } from 'preact'
import { say } from '../../language/language.ts'

interface SearchProps {
  readonly id: string
  /** What it finds, where it finds other than plants of the store. */
  readonly title?: string
  readonly q: string
  readonly onSearch: (q: string) => void
  /** A button inside the field, at its end. */
  readonly children?: ComponentChildren
}

/** The field for words of names and tags, for ids, and for the codes of labels. */
export function SearchField({ id, title, q, onSearch, children }: SearchProps): JSX.Element {
  return (
    <div class="search-box">
      <label class="hidden" for={id}>
        {title ?? say('plants.searchTitle')}
      </label>
      <input
        id={id}
        type="search"
        placeholder={title ?? say('plants.searchHint')}
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
      {children}
    </div>
  )
}
