/** Returns the width of a text in millimetres. `size` is the em in millimetres. */
export type Measure = (text: string, size: number, style: Style) => number

export type Style = 'plain' | 'bold' | 'italic'

const words = new Intl.Segmenter(undefined, { granularity: 'word' })
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** UTF-16 code units: what a document holds of a text, whatever its source. No name has more characters. */
const MOST = 2000

/** Replaces line breaks and control characters by spaces, and cuts after MOST. */
export const onOneLine = (text: string): string =>
  text
    .slice(0, MOST)
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .toWellFormed()

/** A part of a text, and where it begins there. */
export interface WrappedRow {
  readonly text: string
  readonly begin: number
}

export interface Wrapped {
  readonly rows: readonly WrappedRow[]
  /** Whether a word is wider than a row, and is therefore broken. */
  readonly isBroken: boolean
}

/**
 * Breaks a text into rows of at most this width.
 *
 * @param measure returns the width of a part of the text that begins there
 * @param most ends the work: a text that takes more rows gets one more than these, and the rest is missing
 */
export function wrap(
  text: string,
  width: number,
  measure: (part: string, begin: number) => number,
  most = Number.POSITIVE_INFINITY,
): Wrapped {
  const rows: WrappedRow[] = []
  let isBroken = false
  let [begin, end] = [0, 0]
  const isWide = (next: string) => measure((text.slice(begin, end) + next).trimEnd(), begin) > width
  const endRow = () => {
    const row = text.slice(begin, end).trimEnd()
    if (row !== '') rows.push({ text: row, begin })
    begin = end
  }
  for (const piece of unbreakable(text)) {
    if (!isWide(piece)) {
      end += piece.length
      continue
    }
    endRow()
    for (const { segment } of graphemes.segment(piece)) {
      if (end > begin && isWide(segment)) {
        endRow()
        isBroken = true
        if (rows.length > most) return { rows, isBroken }
      }
      end += segment.length
    }
    if (rows.length > most) return { rows, isBroken }
  }
  endRow()
  return { rows, isBroken }
}

/**
 * Splits a text where a line may end: after a space or a hyphen, and between adjacent words of scripts without spaces,
 * such as Chinese, Japanese and Thai.
 */
function* unbreakable(text: string): Generator<string> {
  let piece = ''
  let follows = false
  let wasWord = false
  for (const { segment, isWordLike = false } of words.segment(text)) {
    const isSpace = segment.trim() === ''
    if (piece !== '' && ((follows && !isSpace) || (wasWord && isWordLike))) {
      yield piece
      piece = ''
    }
    // The hyphen of a compound ends a row, the minus sign of an id does not.
    follows = isSpace || (segment === '-' && /\S$/.test(piece))
    piece += segment
    wasWord = isWordLike
  }
  if (piece !== '') yield piece
}

/** The name of a cultivar at the end, which tells plants of one species apart. */
const CULTIVAR = /\s(?:‘[^‘’]+’|'[^']+'|“[^“”]+”|"[^"]+"|„[^„“]+“)$/u

/**
 * Returns the longest beginning that fits, with an ellipsis for what is missing, and before the name of a cultivar where
 * that has room. At least the ellipsis remains.
 */
export function cut(text: string, fits: (shown: string) => boolean): string {
  if (fits(text)) return text
  const cultivar = CULTIVAR.exec(text)?.[0] ?? ''
  const end = fits(`…${cultivar}`) ? cultivar : ''
  const begin = text.slice(0, text.length - end.length)
  const ends = Array.from(graphemes.segment(begin), ({ index }) => index)
  const shownTo = (at = 0): string => `${begin.slice(0, at).trimEnd()}…${end}`
  let [least, most] = [0, ends.length - 1]
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (fits(shownTo(ends[middle]))) least = middle
    else most = middle - 1
  }
  return shownTo(ends[least])
}

/** Letters of scripts that run from right to left. */
const RIGHT_TO_LEFT =
  /^[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}\p{Script=Adlam}]/u

/** Returns the direction of the first letter, as `dir="auto"` does. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const first = /\p{L}/u.exec(text)
  return first !== null && RIGHT_TO_LEFT.test(first[0]) ? 'rtl' : 'ltr'
}
