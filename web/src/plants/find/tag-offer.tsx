import type { JSX } from 'preact'
import type { PlantstoreClient } from '../../../../client/src/index.ts'
import { fold } from '../../../../src/domain/plant-query.ts'
import { numberOf } from '../../language/language.ts'
import { sayWith } from '../../language/say-with.ts'
import { useHelp } from '../../page/request.ts'

interface TagOfferProps {
  readonly client: PlantstoreClient
  readonly q: string
  readonly onChoose: (tag: string) => void
}

/** Tags with the words that are read for an offer: one request. */
const MOST_READ = 1000
const MOST_OFFERED = 3
/** Milliseconds without a key before the service is asked. */
const PAUSE = 200

/**
 * Offers the tags that begin with the text of the search. The words of a bed's name are in other names and tags too, so
 * a search for it finds more than the bed.
 */
export function TagOffer({ client, q, onChoose }: TagOfferProps): JSX.Element | null {
  const wanted = fold(q.trim())
  const read = async (signal: AbortSignal) => client.listTags({ q: wanted, limit: MOST_READ }, { signal }).page()
  const tags = useHelp(PAUSE, [client, wanted], wanted === '' ? undefined : read)?.items ?? []
  const offered = wanted === '' ? [] : tags.filter(({ tag }) => fold(tag).startsWith(wanted))
  if (offered.length === 0) return null
  return (
    <p class="offers">
      {offered
        .toSorted((a, b) => b.plants - a.plants)
        .slice(0, MOST_OFFERED)
        .map(({ tag, plants }) => (
          <button key={tag} type="button" class="chip" onClick={() => onChoose(tag)}>
            {sayWith('tags.offer', { tag: <bdi translate={false}>{tag}</bdi>, plants: numberOf(plants) })}
          </button>
        ))}
    </p>
  )
}
