import { signal } from '@preact/signals'
import { keepStored, onForgotten, storedAs } from '../../page/stored.ts'
import { type Filter, filterIn, queryFor } from '../list/filter.ts'

/** A search that the person has given a name. */
export interface SavedSearch {
  readonly name: string
  /** The query of the page's address, without a question mark. */
  readonly query: string
}

const KEY = storedAs('plantstore-searches')
/** The most searches that the device keeps, and the most characters of one. */
const MOST = 100
export const LONGEST_NAME = 100
const LONGEST_QUERY = 2000

const isSearch = (value: unknown): value is SavedSearch =>
  typeof value === 'object' &&
  value !== null &&
  'name' in value &&
  typeof value.name === 'string' &&
  'query' in value &&
  typeof value.query === 'string'

/** In the order of their names. The device keeps them, for each address of a service. */
export const savedSearches = signal<readonly SavedSearch[]>(kept())

function kept(): readonly SavedSearch[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(found) ? found.filter(isSearch).slice(0, MOST) : []
  } catch {
    return []
  }
}

// Another tab saves, renames or deletes one.
addEventListener('storage', ({ key }) => {
  if (key === KEY || key === null) savedSearches.value = kept()
})

onForgotten(() => {
  savedSearches.value = kept()
})

export type Saving = 'saved' | 'full' | 'too-long' | 'no-room'

/** Saves a search under a name. It replaces the one with this name. */
export const saveSearch = (name: string, filter: Filter): Saving =>
  keep([...without(name), { name: name.trim(), query: queryFor(filter).toString() }])

/** Gives a search another name. It replaces the one that has that name. */
export const renameSearch = ({ name, query }: SavedSearch, next: string): Saving =>
  keep([...without(name).filter((each) => each.name !== next.trim()), { name: next.trim(), query }])

export const deleteSearch = ({ name }: SavedSearch): Saving => keep(without(name))

export const filterOf = ({ query }: SavedSearch): Filter => filterIn(new URLSearchParams(query))

const without = (name: string): readonly SavedSearch[] =>
  savedSearches.value.filter((each) => each.name !== name.trim())

function keep(searches: readonly SavedSearch[]): Saving {
  if (searches.length > MOST) return 'full'
  if (searches.some(({ query }) => query.length > LONGEST_QUERY)) return 'too-long'
  const sorted = searches.toSorted((a, b) => a.name.localeCompare(b.name))
  try {
    keepStored('plantstore-searches', JSON.stringify(sorted))
  } catch {
    return 'no-room'
  }
  savedSearches.value = sorted
  return 'saved'
}
