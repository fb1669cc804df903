import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { ListTagsQuery, PlantstoreClient, TagCount } from '../../../../client/src/index.ts'
import { isLongerThan, MAX_NAME, MAX_TAG } from '../../../../src/domain/plant.ts'
import { saidTooLong } from '../../page/said.ts'

/** The most tags that a field suggests before a person types: one page of the service. */
const MOST = 1000
/** The most of those that begin with what is typed, or have its words, in a store with more tags. */
const MOST_TYPED = 100
/** Milliseconds without a key before the service is asked. */
const PAUSE = 200

/** Reads tags for suggestions. Without them the field works as well, so a fault leaves them out. */
export function useTags(client: PlantstoreClient | undefined, typed: string): readonly TagCount[] {
  const first = useSignal<readonly TagCount[]>([])
  const further = useSignal<readonly TagCount[]>([])
  const read = (found: typeof first, pause: number, queries: readonly ListTagsQuery[]) => {
    if (client === undefined) return undefined
    const ending = new AbortController()
    const ask = async () => {
      const pages = queries.map((query) => client.listTags(query, { signal: ending.signal }).page())
      found.value = (await Promise.all(pages)).flatMap(({ items }) => items)
    }
    const timer = setTimeout(() => void ask().catch(() => {}), pause)
    return () => {
      clearTimeout(timer)
      ending.abort()
    }
  }
  useEffect(() => read(first, 0, [{ limit: MOST }]), [client])
  const text = first.value.length < MOST ? '' : typed.trim()
  const asked = [{ prefix: text }, { q: text }].map((query) => ({ ...query, limit: MOST_TYPED }))
  useEffect(() => (text === '' ? undefined : read(further, PAUSE, asked)), [client, text])
  const all = [...further.value, ...first.value].map((each) => [each.tag, each] as const)
  return [...new Map(all).values()]
}

/** Suggests tags for a field with this id as its `list`. A browser looks for what is typed in labels too. */
export function TagSuggestions({ id, tags }: { readonly id: string; readonly tags: readonly TagCount[] }): JSX.Element {
  return (
    <datalist id={id}>
      {tags.map(({ tag }) => (
        <option key={tag} value={tag} label={tag.includes('×') ? tag.replaceAll('×', 'x') : undefined} />
      ))}
    </datalist>
  )
}

interface TooLongProps {
  /** Of the note. Its field names it as its description. */
  readonly id?: string
  readonly member: 'name' | 'tag'
  readonly text: string
}

/** Says below a field, before the text is sent, that a plant can't have one so long. */
export const TooLong = ({ id, member, text }: TooLongProps): JSX.Element | null =>
  isLongerThan(text, member === 'name' ? MAX_NAME : MAX_TAG) ? (
    <span id={id} role="alert">
      {saidTooLong(member)}
    </span>
  ) : null
