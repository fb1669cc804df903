import { signal } from '@preact/signals'

export interface Route {
  /** The name of a view, such as `plants`; empty: the first one that the token opens. */
  readonly view: string
  readonly query: URLSearchParams
}

export const route = signal<Route>({ view: '', query: new URLSearchParams() })

/** ms from the last key to the change of the address: browsers refuse a change for each repeat of a held key. */
const PAUSE = 300
let timer: ReturnType<typeof setTimeout> | undefined
/** The fragment that `route` tells. Another one in the address is where the person goes: its event comes a turn later. */
let told = ''

/** Follows the fragment of the address, such as `#/plants?q=rose`. */
export function followAddress(): void {
  clearTimeout(timer)
  timer = undefined
  told = location.hash
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  route.value = { view: path, query: new URLSearchParams(query) }
}

/** The address of a view. */
export function linkTo(view: string, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString()
  return `#/${view}${text === '' ? '' : `?${text}`}`
}

/** The query of a view of one plant. */
export const queryOf = (id: bigint | string): URLSearchParams => new URLSearchParams({ id: String(id) })

export function go(view: string, query?: URLSearchParams): void {
  location.hash = linkTo(view, query)
}

/** Changes the query of the present view, unless the person leaves it, without adding an entry to the history. */
export function replaceQuery(query: URLSearchParams): void {
  if (location.hash !== told) return
  const { view } = route.value
  route.value = { view, query }
  clearTimeout(timer)
  timer = setTimeout(writeAddress, PAUSE)
}

/** Writes a changed query to the address now. Otherwise a link to the address before the change would do nothing. */
export function writeAddress(): void {
  if (timer === undefined) return
  clearTimeout(timer)
  timer = undefined
  if (location.hash !== told) return
  const { view, query } = route.value
  history.replaceState(null, '', linkTo(view, query))
  told = location.hash
}
