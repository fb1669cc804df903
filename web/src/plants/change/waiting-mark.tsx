import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import { waitingFor } from '../../offline/waiting.ts'
import { linkTo } from '../../page/route.ts'

interface MarkProps {
  readonly id: bigint
  readonly tabIndex: number
}

/** Marks a plant whose change waits for the service. */
export function WaitingMark({ id, tabIndex }: MarkProps): JSX.Element | null {
  const waits = waitingFor(id)
  if (waits === undefined) return null
  return (
    <a class="waits" translate href={linkTo('waiting')} tabIndex={tabIndex}>
      {say(waits.wanted === null ? 'waiting.markDeleted' : 'waiting.mark')}
    </a>
  )
}
