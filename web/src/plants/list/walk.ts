import { signal } from '@preact/signals'
import { onSignOut } from '../../session/session.ts'

interface Walk {
  /** The query of the address of the list. */
  readonly query: URLSearchParams
  /** Those that the list has read, in its order. */
  readonly ids: readonly bigint[]
}

const NOWHERE: Walk = { query: new URLSearchParams(), ids: [] }

/** The list that the person has come from: a plant leads back to it, and to its neighbours there. */
export const walk = signal(NOWHERE)

onSignOut(() => {
  walk.value = NOWHERE
})

/** The plants before and after one in that list. */
export function neighboursOf(id: bigint): { readonly previous: bigint | undefined; readonly next: bigint | undefined } {
  const { ids } = walk.value
  const at = ids.indexOf(id)
  return at === -1 ? { previous: undefined, next: undefined } : { previous: ids[at - 1], next: ids[at + 1] }
}
