import type { JSX } from 'preact'
import type { Token } from '../../../client/src/index.ts'
import { sayWith } from '../language/say-with.ts'

/** Says which plants a token sees; nothing for one that sees all. An ellipsis stands for all tags that begin so. */
export function PartNote({ of: { part } }: { readonly of: Pick<Token, 'part'> }): JSX.Element | null {
  if (part === undefined) return null
  const tags = part.map((text) => (text.endsWith('/') ? `${text}…` : text)).join(', ')
  return <div class="note">{sayWith('stocktake.tagged', { tags: <bdi translate={false}>{tags}</bdi> })}</div>
}
