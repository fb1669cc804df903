import type { JSX } from 'preact'
import { say } from '../../language/language.ts'
import { linkTo } from '../../page/route.ts'
import { NO_FILTER, queryFor } from '../list/filter.ts'

interface ChipProps {
  readonly tag: string
  readonly tabIndex?: number
}

/** A tag, which leads to all plants that have it. */
export function TagChip({ tag, tabIndex }: ChipProps): JSX.Element {
  return (
    <a
      class="tag-chip"
      dir="auto"
      translate={false}
      href={linkTo('plants', queryFor({ ...NO_FILTER, tags: [tag] }))}
      tabIndex={tabIndex}
    >
      {shownTag(tag)}
    </a>
  )
}

/** The beginning of tags, which is no tag itself. */
export const shownGroup = (prefix: string): string => `${prefix}…`

/** The empty tag is a tag too, and needs a visible text. */
export const shownTag = (tag: string): string => (tag === '' ? say('plants.emptyTag') : tag)
