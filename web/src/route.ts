import { signal } from '@preact/signals'

export interface Route {
  /** The name of a view, such as `plants`. */
  readonly view: string
  readonly query: URLSearchParams
}

export const route = signal<Route>({ view: 'plants', query: new URLSearchParams() })

/** Browsers refuse a change of the address for each key that is held, so it follows after this many ms. */
const PAUSE = 300
let timer: ReturnType<typeof setTimeout> | undefined

/** Follows the fragment of the address, such as `#/plants?q=rose`. */
export function followAddress(): void {
  clearTimeout(timer)
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  route.value = { view: path === '' ? 'plants' : path, query: new URLSearchParams(query) }
}

/** The address of a view. */
export function linkTo(view: string, query: URLSearchParams = new URLSearchParams()): string {
  const text = query.toString()
  return `#/${view}${text === '' ? '' : `?${text}`}`
}

export function go(view: string, query?: URLSearchParams): void {
  location.hash = linkTo(view, query)
}

/** Changes the query of the present view, without an entry in the history for each pressed key. */
export function replaceQuery(query: URLSearchParams): void {
  const { view } = route.value
  route.value = { view, query }
  clearTimeout(timer)
  timer = setTimeout(() => history.replaceState(null, '', linkTo(view, query)), PAUSE)
}
