import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../client/src/index.ts'
import { isLongerThan, MAX_NAME, MAX_TAG } from '../../../src/domain/plant.ts'
import { saidTooLong } from '../page/said.ts'

/** The most tags that a field suggests: one page of the service. */
const MOST = 1000

/** Reads tags for suggestions. Without them the field works as well, so a fault leaves them out. */
export function useTags(client: PlantstoreClient | undefined): readonly TagCount[] {
  const tags = useSignal<readonly TagCount[]>([])
  useEffect(() => {
    if (client === undefined) return
    const ending = new AbortController()
    client
      .listTags({ limit: MOST }, { signal: ending.signal })
      .page()
      .then(
        ({ items }) => {
          tags.value = items
        },
        () => {},
      )
    return () => ending.abort()
  }, [client])
  return tags.value
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
