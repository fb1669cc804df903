import type { JSX } from 'preact'
import { say } from '../language/language.ts'
import { linkTo } from '../route.ts'
import { entered } from './enter-plant.tsx'

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
        <a key={id} href={linkTo(view, new URLSearchParams({ id }))}>
          {id}
        </a>
      ))}
    </p>
  )
}
