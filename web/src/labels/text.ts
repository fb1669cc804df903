/** How wide a text is in millimetres, in a size (the em) in millimetres. */
export type Measure = (text: string, size: number, weight: Weight) => number

export type Weight = 400 | 700

const words = new Intl.Segmenter(undefined, { granularity: 'word' })
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** More than any label holds: a name may have a million characters. */
const MOST = 600

/** The text on one line: without line breaks and other characters that move the pen. */
export const onOneLine = (text: string): string =>
  text
    .slice(0, MOST)
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .toWellFormed()

export interface Wrapped {
  readonly lines: readonly string[]
  /** Whether a word is wider than a line, so that a line ends inside of it. */
  readonly isBroken: boolean
}

/** Breaks a text into lines of this width. */
export function wrap(text: string, width: number, measure: (text: string) => number): Wrapped {
  const lines: string[] = []
  let isBroken = false
  let line = ''
  for (const piece of unbreakable(text)) {
    if (measure((line + piece).trimEnd()) <= width) {
      line += piece
      continue
    }
    if (line !== '') lines.push(line.trimEnd())
    line = ''
    for (const { segment } of graphemes.segment(piece)) {
      if (line !== '' && measure((line + segment).trimEnd()) > width) {
        lines.push(line)
        line = ''
        isBroken = true
      }
      line += segment
    }
  }
  if (line !== '') lines.push(line.trimEnd())
  return { lines, isBroken }
}

/**
 * The parts between which a line may end: behind a space or a hyphen, and between words without a space between them, as
 * Chinese, Japanese and Thai have them.
 */
function unbreakable(text: string): string[] {
  const pieces: string[] = []
  let follows = false
  let wasWord = false
  for (const { segment, isWordLike = false } of words.segment(text)) {
    const last = pieces.at(-1)
    const isSpace = segment.trim() === ''
    if (last !== undefined && !(follows && !isSpace) && !(wasWord && isWordLike)) {
      pieces[pieces.length - 1] = last + segment
    } else pieces.push(segment)
    follows = isSpace || segment === '-'
    wasWord = isWordLike
  }
  return pieces
}

/** As much of the text as fits, with an ellipsis if that is not all of it. */
export function cut(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text
  let shown = ''
  for (const { segment } of graphemes.segment(text)) {
    if (measure(`${(shown + segment).trimEnd()}…`) > width) break
    shown += segment
  }
  return `${shown.trimEnd()}…`
}

/** The letters of scripts from right to left. */
const RIGHT_TO_LEFT =
  /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}]/u

/** The direction of a text is that of its first letter, as `dir="auto"` has it. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const first = /\p{L}/u.exec(text)
  return first !== null && RIGHT_TO_LEFT.test(first[0]) ? 'rtl' : 'ltr'
}
