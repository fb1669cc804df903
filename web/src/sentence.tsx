import type { JSX } from 'preact'
import { dividedByMarks } from './named.ts'

/** Shows a sentence, each marked name in its own direction, and what is in English as English. */
export function Sentence({ text }: { readonly text: string }): JSX.Element {
  return (
    <span>
      {dividedByMarks(text).map(({ text: part, kind }, i) => {
        if (kind === 'name') return <bdi key={i}>{part}</bdi>
        return kind === 'english' ? (
          <span key={i} lang="en">
            {part}
          </span>
        ) : (
          part
        )
      })}
    </span>
  )
}
