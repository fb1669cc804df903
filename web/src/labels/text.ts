/** Returns the width of a text in millimetres. `size` is the em in millimetres. */
export type Measure = (text: string, size: number, weight: Weight) => number

export type Weight = 400 | 700

const words = new Intl.Segmenter(undefined, { granularity: 'word' })
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** UTF-16 code units, more than any label has room for: a name may have a million. */
const MOST = 600

/** Replaces line breaks and control characters by spaces, and cuts after MOST. */
export const onOneLine = (text: string): string =>
  text
    .slice(0, MOST)
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .toWellFormed()

export interface Wrapped {
  readonly lines: readonly string[]
  /** Whether a word is wider than a line, and is therefore broken. */
  readonly isBroken: boolean
}

/** Breaks a text into lines of at most this width. */
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
 * Splits a text where a line may end: after a space or a hyphen, and between adjacent words of scripts without spaces,
 * such as Chinese, Japanese and Thai.
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

/** Cuts a text to this width. An ellipsis shows that something is missing. */
export function cut(text: string, width: number, measure: (text: string) => number): string {
  if (measure(text) <= width) return text
  let shown = ''
  for (const { segment } of graphemes.segment(text)) {
    if (measure(`${(shown + segment).trimEnd()}…`) > width) break
    shown += segment
  }
  return `${shown.trimEnd()}…`
}

/** Letters of scripts that run from right to left. */
const RIGHT_TO_LEFT =
  /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}]/u

/** Returns the direction of the first letter, as `dir="auto"` does. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const first = /\p{L}/u.exec(text)
  return first !== null && RIGHT_TO_LEFT.test(first[0]) ? 'rtl' : 'ltr'
}
