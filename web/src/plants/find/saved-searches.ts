import { isText, itemsIn, recordIn } from '../../page/json.ts'
import { OnDevice } from '../../page/on-device.ts'
import { type Filter, filterIn, queryFor } from '../list/filter.ts'

/** A search that the person has given a name. */
export interface SavedSearch {
  readonly name: string
  /** The query of the page's address, without a question mark. */
  readonly query: string
}

/** The most searches that the device keeps, and the most characters of one. */
const MOST = 100
export const LONGEST_NAME = 100
const LONGEST_QUERY = 2000

const isSearch = (value: unknown): value is SavedSearch => {
  const { name, query } = recordIn(value)
  return isText(name) && isText(query)
}

/** In the order of their names. */
export const savedSearches = new OnDevice('plantstore-searches', (found) => itemsIn(found, isSearch).slice(0, MOST))

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
  const { value: before } = savedSearches
  if (savedSearches.keep(searches.toSorted((a, b) => a.name.localeCompare(b.name)))) return 'saved'
  savedSearches.keep(before)
  return 'no-room'
}
