import type { Sheet } from './sheets.ts'
import { cut, directionOf, type Measure, type Style, wrap } from './text.ts'
import type { Line, Part } from './wording.ts'

/** A text in one style, on one row. All lengths are millimetres from the top left corner of the label. */
export interface TextRun {
  readonly text: string
  /** The beginning of the text: its left end, or the right end in a line from right to left. */
  readonly x: number
  /** The base line. */
  readonly y: number
  readonly style: Style
  readonly direction: 'ltr' | 'rtl'
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export const CODES = ['qr', 'bars', 'both'] as const
/** The codes of each label: a QR code with the address of the plant, bars with its id, or both. */
export type Codes = (typeof CODES)[number]

/** What labels are printed on, and with which codes. */
export interface Format {
  readonly sheet: Sheet
  readonly codes: Codes
}

interface Boxes {
  /** The square of the QR code, with its quiet zone. */
  readonly qr?: Box
  /** The area of the bars, with their quiet zones. */
  readonly bars?: Box
  /** The area of all texts. */
  readonly text: Box
}

export interface LabelLayout extends Boxes {
  /** The em of all texts. */
  readonly size: number
  readonly runs: readonly TextRun[]
  /** Whether some of the text has no room. */
  readonly isCut: boolean
}

const POINT = 25.4 / 72
const LEADING = 1.18
/** The smallest size. What does not fit in this size is cut off, except for ids. */
const LEAST = 6 * POINT
const LARGEST = 8
/** From one size to the next smaller one. */
const STEP = 0.92
const GAP = 1.5
/** The height of bars: a hand scanner has to cross all of them. */
const BARS = { share: 0.3, most: 15 }

/**
 * Returns the one size of all texts of some labels: the largest in which each label shows its whole text. A label that
 * has no room for its text even in the smallest size does not make the others smaller, unless its id needs that.
 */
export function sizeFor(labels: readonly (readonly Line[])[], format: Format, measure: Measure): number {
  const { text } = boxesOf(format)
  let size = Math.min(LARGEST, Math.max(LEAST, format.sheet.labelHeight * 0.15))
  for (const lines of labels) {
    if (fitOf(lines, text, size, measure) === 'whole') continue
    const wanted = fitOf(lines, text, LEAST, measure)
    if (wanted === 'none') continue
    while (!['whole', wanted].includes(fitOf(lines, text, size, measure))) size = Math.max(LEAST, size * STEP)
  }
  for (const ids of labels.map((lines) => lines.map(idsOf))) {
    while (fitOf(ids, text, size, measure) === 'none') size *= STEP
  }
  return size
}

const idsOf = (line: Line): Line => line.filter(({ style }) => style === 'bold')

const roomFor = (size: number, { height }: Box): number => Math.floor(height / (size * LEADING) + 1e-9)

/** Says whether a label has room for its whole text, or only if words are broken. */
function fitOf(lines: readonly Line[], box: Box, size: number, measure: Measure): 'whole' | 'broken' | 'none' {
  const room = roomFor(size, box)
  // Most of the time would go into breaking texts that are far too long.
  const widths = lines.flat().map(({ text, style }) => measure(text.trim(), size, style))
  if (widths.reduce((sum, width) => sum + width, 0) > room * box.width) return 'none'
  const wrapped = lines.map((line) => rowsOf(line, box.width, size, measure, room))
  if (wrapped.reduce((sum, { rows }) => sum + rows.length, 0) > room) return 'none'
  return wrapped.some(({ isBroken }) => isBroken) ? 'broken' : 'whole'
}

/** Places codes and texts on a label. @param size the em, in which ids have room */
export function layOut(lines: readonly Line[], size: number, format: Format, measure: Measure): LabelLayout {
  const boxes = boxesOf(format)
  const { text } = boxes
  const rows = shownRows(lines, text, size, measure)
  // The first line is at the top, the others at the bottom: without a name, there is room to write one by hand.
  const [first = []] = rows
  const others = rows.slice(1).flat()
  const below = text.y + text.height - size * (LEADING - 1) - (others.length - 1) * size * LEADING
  const runs = [
    ...first.map((row, i) => placed(row, text, text.y + size * (0.9 + i * LEADING), size, measure)),
    ...others.map((row, i) => placed(row, text, below + i * size * LEADING, size, measure)),
  ]
  const lengthOf = (parts: readonly Part[]) =>
    parts.reduce((sum, part) => sum + part.text.replaceAll(' ', '').length, 0)
  const isCut = rows.some((shown, i) => lengthOf(shown.flatMap(({ parts }) => parts)) !== lengthOf(lines[i] ?? []))
  return { ...boxes, size, runs: runs.flat(), isCut }
}

/** Puts bars below everything else: they need the whole width. */
function boxesOf({ sheet: { labelWidth, labelHeight, padding }, codes }: Format): Boxes {
  const inner = { x: padding, y: padding, width: labelWidth - 2 * padding, height: labelHeight - 2 * padding }
  if (codes === 'qr') return withSquare(inner)
  const height = Math.min(BARS.most, inner.height * BARS.share)
  const bars = { ...inner, y: padding + inner.height - height, height }
  const rest = { ...inner, height: inner.height - height - GAP }
  return { ...(codes === 'both' ? withSquare(rest) : { text: rest }), bars }
}

/** Puts a QR code beside the texts, or below them on a label that is not clearly wider than high. */
function withSquare({ x, y, width, height }: Box): Boxes {
  if (width >= height * 1.2) {
    const side = Math.min(height, width * 0.42)
    const qr = { x: x + width - side, y: y + (height - side) / 2, width: side, height: side }
    return { qr, text: { x, y, width: width - side - GAP, height } }
  }
  const side = Math.min(width, height * 0.5)
  const qr = { x: x + (width - side) / 2, y: y + height - side, width: side, height: side }
  return { qr, text: { x, y, width, height: height - side - GAP } }
}

/** A row of a line: parts that stand beside each other, and the direction of the line. */
interface StyledRow {
  readonly parts: readonly Part[]
  readonly direction: TextRun['direction']
}

/** Returns the rows of each line, and leaves out what has no room: first the end of the first long text. */
function shownRows(lines: readonly Line[], box: Box, size: number, measure: Measure): StyledRow[][] {
  const room = roomFor(size, box)
  const countOf = (line: Line): number => rowsOf(line, box.width, size, measure, room).rows.length
  const wanted = lines.map(countOf)
  const given = lines.map((line) => countOf(idsOf(line)))
  let left = room - given.reduce((sum, count) => sum + count, 0)
  const give = (i: number, most: number) => {
    const more = Math.max(0, Math.min(left, most - (given[i] ?? 0)))
    given[i] = (given[i] ?? 0) + more
    left -= more
  }
  for (const [i, count] of wanted.entries()) give(i, Math.min(1, count))
  for (const [i, count] of wanted.entries()) give(i, count)
  return lines.map((line, i) => {
    const direction = directionOf(line.map(({ text }) => text).join(''))
    const most = given[i] ?? 0
    return most === 0
      ? []
      : rowsOf(
          shortened(line, (each) => countOf(each) <= most),
          box.width,
          size,
          measure,
        ).rows.map((parts) => ({ parts, direction }))
  })
}

/** Cuts the longest text of a line that is no id, and then the next one, until the line fits. */
function shortened(line: Line, fits: (line: Line) => boolean): Line {
  if (fits(line)) return line
  const cuttable = line.filter(({ style, text }) => style !== 'bold' && text !== '')
  const longest = cuttable.toSorted((one, other) => other.text.length - one.text.length)[0]
  if (longest === undefined) return line
  const withText = (text: string): Line => line.map((part) => (part === longest ? { ...part, text } : part))
  const shown = withText(cut(longest.text, (text) => fits(withText(text))))
  return fits(shown) ? shown : shortened(withText(''), fits)
}

/** Breaks a line into rows of parts. @param most as for `wrap` */
function rowsOf(line: Line, width: number, size: number, measure: Measure, most?: number) {
  const text = line.map((part) => part.text).join('')
  const widthOf = (row: string, begin: number): number =>
    partsIn(line, begin, begin + row.length).reduce((sum, part) => sum + measure(part.text, size, part.style), 0)
  const { rows, isBroken } = wrap(text, width, widthOf, most)
  return { rows: rows.map((row) => partsIn(line, row.begin, row.begin + row.text.length)), isBroken }
}

/** The parts of a line between two places of its text. */
function partsIn(line: Line, begin: number, end: number): Part[] {
  let at = 0
  return line.flatMap(({ text, style }) => {
    const from = at
    at += text.length
    const shown = text.slice(Math.max(0, begin - from), Math.max(0, end - from))
    return shown === '' ? [] : [{ text: shown, style }]
  })
}

/** Places the parts of a row one behind the other. No run has spaces at its ends: SVG would leave them out. */
function placed({ parts, direction }: StyledRow, box: Box, y: number, size: number, measure: Measure): TextRun[] {
  const forward = direction === 'rtl' ? -1 : 1
  let x = direction === 'rtl' ? box.x + box.width : box.x
  return parts.flatMap(({ text, style }) => {
    const shown = text.trim()
    const begin = x + forward * measure(text.slice(0, text.indexOf(shown)), size, style)
    x += forward * measure(text, size, style)
    return shown === '' ? [] : [{ text: shown, x: begin, y, style, direction }]
  })
}
