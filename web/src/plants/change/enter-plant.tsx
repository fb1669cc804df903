import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { say, sayOf } from '../../language/language.ts'
import { plantOf } from '../../offline/attempt.ts'
import { isSame } from '../../offline/change.ts'
import { submit } from '../../offline/send.ts'
import { isFocusLost } from '../../page/focus.ts'
import { named } from '../../page/named.ts'
import { tell } from '../../page/notices.tsx'
import { linkTo, queryOf } from '../../page/route.ts'
import type { ViewProps } from '../../session/session.ts'
import { putDraft } from '../list/drafts.ts'
import { tellKept } from './changes.ts'
import { contentOf, entered, NOTHING, type Typed, type, typedFor } from './new-plant.ts'
import { NewPlantForm } from './new-plant-form.tsx'

interface EnterProps extends ViewProps {
  readonly id: bigint
  readonly intro: string
  /** Whether the name gets the focus, unless another element has it. */
  readonly isFocused: boolean
  readonly onEntered: () => void
}

/** Enters a plant whose label was printed before. */
export function EnterPlant({ session, id, intro, isFocused, onEntered }: EnterProps): JSX.Element {
  const name = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    if (isFocused && isFocusLost()) name.current?.focus()
  }, [])
  const enter = async (sent: Typed) => {
    const plant = plantOf(id, contentOf(sent))
    const outcome = await submit(session, { id, base: null, wanted: plant })
    if (outcome.kind === 'met' && !(outcome.theirs && isSame(outcome.theirs.plant, plant)))
      return say('plants.justEntered')
    const now = typedFor(id)
    // Text typed while the service worked becomes an edit of the stored plant.
    if (now !== NOTHING && now !== sent) putDraft({ base: plant, name: now.name, tag: now.tag })
    type(id, NOTHING)
    if (outcome.kind === 'waits') tellKept(`${id} ${named(plant.name)}`)
    else tell(say('plants.added', { id, name: named(plant.name) }))
    onEntered()
    return undefined
  }
  const title = sayOf('plants.new', id)
  return <NewPlantForm title={title} label={id} place={name} client={session.client} add={enter} intro={intro} />
}

interface NotAddedProps {
  /** The view that shows the form for a plant. */
  readonly view: 'plant' | 'scan'
  /** The plant whose form is in sight. */
  readonly except?: bigint | null
}

/** Leads back to the plants that the person has typed at their labels, and not added. */
export function NotAdded({ view, except }: NotAddedProps): JSX.Element | null {
  const ids = entered.value.filter((id) => id !== String(except))
  if (ids.length === 0) return null
  return (
    <p class="not-added" role="status">
      {say('plants.notAddedCount', { count: ids.length })}:{' '}
      {ids.map((id) => (
        <a key={id} href={linkTo(view, queryOf(id))}>
          {id}
        </a>
      ))}
    </p>
  )
}
