import type { JSX } from 'preact'
import { linkTo } from '../../page/route.ts'
import { NO_FILTER, queryFor } from '../list/filter.ts'
import { shownTag } from '../list/shown-tag.ts'

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
