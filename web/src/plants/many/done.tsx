import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import type { Conflict } from '../../offline/send-many.ts'
import { Rest } from '../../page/first-of.tsx'
import { Sentence } from '../../page/sentence.tsx'

/** "1 plant" or "1,204 plants". */
export const plantsIn = (count: number): string => say('plants.count', { count })

/** The most conflicts that a list shows. */
const MOST_SHOWN = 100

interface ConflictsProps {
  readonly conflicts: readonly Conflict[]
  /** How many there are, where the list has only the first. */
  readonly count?: number
  /** Whether they will stay, or have stayed. */
  readonly lead?: 'bulk.same' | 'bulk.stayed'
}

/** Lists plants that an action leaves as they are, each with the reason. */
export function Conflicts({
  conflicts,
  count = conflicts.length,
  lead = 'bulk.stayed',
}: ConflictsProps): JSX.Element | null {
  if (count === 0) return null
  const shown = conflicts.slice(0, MOST_SHOWN)
  return (
    <>
      <p role="alert">{say(lead, { count })}</p>
      <ul class="conflicts">
        {shown.map(({ id, name, why }) => (
          <li key={String(id)}>
            {String(id)}
            {name === undefined ? '' : ' '}
            <bdi translate={false}>{name}</bdi>. <Sentence text={why} />
          </li>
        ))}
      </ul>
      <Rest count={count - shown.length} />
    </>
  )
}
