import { useComputed, useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { PlantstoreClient, TagCount } from '../../../client/src/index.ts'
import { fold } from '../../../src/domain/plant-query.ts'
import { numberOf } from '../language/language.ts'
import { sayWith } from '../language/say-with.ts'

interface TagOfferProps {
  readonly client: PlantstoreClient
  readonly q: string
  readonly onChoose: (tag: string) => void
}

/** Tags that are read for the offer: five requests. A person with more finds the others in the list of tags. */
const MOST_READ = 5000
const PAGE = 1000
const MOST_OFFERED = 3

/**
 * Offers the tags that begin with the text of the search. The words of a bed's name are in other names and tags too, so
 * a search for it finds more than the bed.
 */
export function TagOffer({ client, q, onChoose }: TagOfferProps): JSX.Element | null {
  const tags = useSignal<readonly TagCount[]>([])
  const wanted = fold(q.trim())
  const isWanted = wanted !== ''
  useEffect(() => {
    if (!isWanted) return
    let isLeft = false
    const read = async (): Promise<void> => {
      const found: TagCount[] = []
      for await (const page of client.listTags({ limit: PAGE }).pages()) {
        if (isLeft) return
        found.push(...page)
        tags.value = found.slice()
        if (found.length >= MOST_READ) return
      }
    }
    // An offer that fails is none: the search itself tells what is wrong.
    read().catch(() => undefined)
    return () => {
      isLeft = true
    }
  }, [client, isWanted])
  const folded = useComputed(() => tags.value.map((each) => ({ ...each, start: fold(each.tag) })))
  const offered = isWanted ? folded.value.filter(({ start }) => start.startsWith(wanted)) : []
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
