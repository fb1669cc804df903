import type { JSX } from 'preact'
import { isLongerThan, MAX_NAME, MAX_TAG } from '../../../src/domain/plant.ts'
import { saidTooLong } from '../said.ts'

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
