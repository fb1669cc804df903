import type { JSX } from 'preact'

/** First strong isolate and pop directional isolate (Unicode UAX #9). */
const [BEGIN, END] = ['\u2068', '\u2069']

/** Marks a name in a sentence. Without the marks, a name from right to left mixes with the words around it. */
export const named = (name: string): string => `${BEGIN}${name}${END}`

/** Removes the marks of names. */
export const plain = (sentence: string): string => sentence.replaceAll(/[\u2068\u2069]/g, '')

/** Shows a sentence, each marked name in its own direction. */
export function Sentence({ text }: { readonly text: string }): JSX.Element {
  return <span>{text.split(/[\u2068\u2069]/).map((part, i) => (i % 2 === 1 ? <bdi key={i}>{part}</bdi> : part))}</span>
}
