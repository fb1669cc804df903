import { signal } from '@preact/signals'
import type { CreatedToken } from '../../../client/src/index.ts'
import { say } from '../language/language.ts'
import { askBeforeLosing } from '../page/leaving.ts'
import { named } from '../page/named.ts'
import { Kept } from '../session/kept.ts'
import { onSignOut, type Scope } from '../session/session.ts'

/** The typed text for a token that is not created yet. */
interface Typed {
  readonly name: string
  /** null: nothing was chosen yet. */
  readonly scopes: readonly Scope[] | null
  /** A text of its part on each line; empty: the part of the token that creates it. */
  readonly part: string
  /** The last day on which it works; empty: as long as the token that creates it. */
  readonly day: string
}

const NOTHING: Typed = { name: '', scopes: null, part: '', day: '' }

export const typed = new Kept<Typed>('plantstore-new-token', NOTHING)

export interface Created extends CreatedToken {
  /** The token whose secret it replaces, and the time at which that one ends. */
  readonly replaced?: { readonly id: string; readonly until: string }
}

/** Created tokens with their secrets, until the person has kept them. No storage of the browser has them. */
export const created = signal<readonly Created[]>([])

onSignOut(() => {
  created.value = []
})

askBeforeLosing(() => (typed.value.name === '' ? undefined : say('tokens.lossNew')), {
  isKept: true,
})
askBeforeLosing(() =>
  created.value.length === 0
    ? undefined
    : say('tokens.lossSecret', { names: created.value.map(({ name }) => named(name)).join(', ') }),
)
