import { signal } from '@preact/signals'
import type { CreatedToken } from '../../../client/src/index.ts'
import { Kept } from '../kept.ts'
import { askBeforeLosing } from '../leaving.ts'
import { named } from '../named.tsx'
import { onSignOut, type Scope } from '../session.ts'

/** The typed text for a token that is not created yet. */
interface Typed {
  readonly name: string
  /** null: nothing was chosen yet. */
  readonly scopes: readonly Scope[] | null
  /** The last day on which it works; empty: as long as the token that creates it. */
  readonly day: string
}

export const NOTHING: Typed = { name: '', scopes: null, day: '' }

export const typed = new Kept<Typed>('plantstore-new-token', NOTHING)

/** Created tokens with their secrets, until the person has kept them. No storage of the browser has them. */
export const created = signal<readonly CreatedToken[]>([])

onSignOut(() => {
  created.value = []
})

askBeforeLosing(() => (typed.value.name === '' ? undefined : 'the new token that you have not created'))
askBeforeLosing(() =>
  created.value.length === 0 ? undefined : `the secret of ${created.value.map(({ name }) => named(name)).join(', ')}`,
)
