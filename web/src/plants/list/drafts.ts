import { signal } from '@preact/signals'
import type { KeptPlant, StoredPlant } from '../../../../client/src/index.ts'
import { say } from '../../language/language.ts'
import { isSame } from '../../offline/change.ts'
import { askBeforeLosing } from '../../page/leaving.ts'
import { storedAs } from '../../page/stored.ts'
import { onSignOut } from '../../session/session.ts'

/** An unsaved edit of a plant. */
export interface Draft {
  /** The plant as the page showed it when the edit began. */
  readonly base: StoredPlant
  /** The typed text. undefined: nothing was typed, so saving keeps characters that no text field can show. */
  readonly name?: string | undefined
  /** Empty means no tag. */
  readonly tag?: string | undefined
  readonly isSaving?: boolean
  /** The reason why the last attempt to save failed. */
  readonly fault?: string | undefined
  /** The plant after another client's change; null after a deletion. */
  readonly theirs?: KeptPlant | null | undefined
}

const KEY = storedAs('plantstore-drafts')
/** Ids in a question before the person leaves. */
const MOST_NAMED = 10

/** The drafts by id. They outlive the view, a reload of the tab and an expired token. */
export const drafts = signal<ReadonlyMap<string, Draft>>(stored())

export function putDraft(draft: Draft): void {
  keep(new Map(drafts.value).set(String(draft.base.id), draft))
}

/** Changes a draft, unless the person has closed it meanwhile. */
export function changeDraft(id: bigint, part: Partial<Draft>): void {
  const draft = drafts.value.get(String(id))
  if (draft !== undefined) putDraft({ ...draft, ...part })
}

export function dropDraft(id: bigint): void {
  const rest = new Map(drafts.value)
  rest.delete(String(id))
  keep(rest)
}

/** Returns the plant that saving the draft would store. */
export function wanted({ base, name = base.name, tag }: Draft): StoredPlant {
  const { id } = base
  if (tag === undefined) return { ...base, name }
  return tag === '' ? { id, name } : { id, name, tag }
}

/** Whether saving the draft would change the plant. */
export const isChanged = (draft: Draft): boolean => !isSame(wanted(draft), draft.base)

function keep(next: ReadonlyMap<string, Draft>): void {
  drafts.value = next
  const texts = [...next.values()].map(({ base, name, tag }) => ({ base: { ...base, id: String(base.id) }, name, tag }))
  if (texts.length === 0) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, JSON.stringify(texts))
}

function stored(): ReadonlyMap<string, Draft> {
  const texts = JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as readonly (Omit<Draft, 'base'> & {
    readonly base: Omit<StoredPlant, 'id'> & { readonly id: string }
  })[]
  return new Map(texts.map((text) => [text.base.id, { ...text, base: { ...text.base, id: BigInt(text.base.id) } }]))
}

onSignOut(() => keep(new Map()))
askBeforeLosing(
  () => {
    const ids = [...drafts.value.values()].filter(isChanged).map(({ base }) => base.id)
    return ids.length === 0
      ? undefined
      : say('plants.lossTyped', { ids: `${ids.slice(0, MOST_NAMED).join(', ')}${ids.length > MOST_NAMED ? '…' : ''}` })
  },
  { isKept: true },
)
