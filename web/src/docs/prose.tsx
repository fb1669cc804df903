import type { JSX } from 'preact'

const CODE = /`([^`]+)`/

/** The paragraphs of a description in the contract. */
export function Prose({ text = '' }: { readonly text?: string | undefined }): JSX.Element {
  const paragraphs = text.split(/\n{2,}/).filter((paragraph) => paragraph.trim() !== '')
  return (
    <>
      {paragraphs.map((paragraph) => (
        <p key={paragraph}>
          <Inline text={paragraph.trim()} />
        </p>
      ))}
    </>
  )
}

/** One paragraph of a description. Backticks in it enclose code. */
export function Inline({ text }: { readonly text: string }): JSX.Element {
  return (
    <>
      {text.split(CODE).map((part, i) =>
        i % 2 === 1 ? (
          <code key={`${i}${part}`} translate={false}>
            {part}
          </code>
        ) : (
          part
        ),
      )}
    </>
  )
}
