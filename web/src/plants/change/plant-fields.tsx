import type { JSX } from 'preact'
import type { ListTagsQuery, PlantstoreClient, TagCount } from '../../../../client/src/index.ts'
import { isLongerThan, MAX_NAME, MAX_TAG } from '../../../../src/domain/plant.ts'
import { useHelp } from '../../page/request.ts'
import { saidTooLong } from '../../page/said.ts'

/** The most tags that a field suggests before a person types: one page of the service. */
const MOST = 1000
/** The most of those that begin with what is typed, or have its words, in a store with more tags. */
const MOST_TYPED = 100
/** Milliseconds without a key before the service is asked. */
const PAUSE = 200

/** Reads tags for suggestions. */
export function useTags(client: PlantstoreClient | undefined, typed: string): readonly TagCount[] {
  const read = (queries: readonly ListTagsQuery[]) => async (signal: AbortSignal) => {
    const pages = queries.map((query) => client?.listTags(query, { signal }).page())
    return (await Promise.all(pages)).flatMap((page) => page?.items ?? [])
  }
  const first = useHelp(0, [client], client && read([{ limit: MOST }])) ?? []
  const text = first.length < MOST ? '' : typed.trim()
  const asked = [{ prefix: text }, { q: text }].map((query) => ({ ...query, limit: MOST_TYPED }))
  const further = useHelp(PAUSE, [client, text], text === '' ? undefined : read(asked)) ?? []
  return [...new Map([...further, ...first].map((each) => [each.tag, each])).values()]
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
