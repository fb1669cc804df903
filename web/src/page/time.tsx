import type { JSX } from 'preact'
import { timeOf } from '../language/language.ts'

interface TimeProps {
  /** As the service writes it. */
  readonly at: string
  /** `medium` has seconds. */
  readonly style?: 'short' | 'medium'
}

export const Time = ({ at, style = 'short' }: TimeProps): JSX.Element => <time dateTime={at}>{timeOf(at, style)}</time>
