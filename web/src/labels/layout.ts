import type { Sheet } from './sheets.ts'
import { cut, directionOf, type Measure, onOneLine, type Weight, wrap } from './text.ts'

/** The contents of a label. */
export interface LabelText {
  /** Empty for a plant that is not entered yet. The label then leaves room to write the name by hand. */
  readonly name: string
  readonly tag: string | undefined
  readonly id: bigint
}

/** A line of text. All lengths are millimetres from the top left corner of the label. */
export interface TextLine {
  readonly text: string
  /** The beginning of the line: the left end, or the right end of a text from right to left. */
  readonly x: number
  /** The base line. */
  readonly y: number
  /** The em. */
  readonly size: number
  readonly weight: Weight
  readonly direction: 'ltr' | 'rtl'
}

export interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface LabelLayout {
  /** The square of the code, with its quiet zone. */
  readonly code: Box
  /** The area of all lines. */
  readonly text: Box
  readonly lines: readonly TextLine[]
}

const POINT = 25.4 / 72
const LEADING = 1.18
/** The size of tag and id. A wide id gets a smaller one. */
const SMALL = 8 * POINT
/** The smallest size of a name. A name that does not fit in this size is cut off. */
const LEAST_NAME = 7 * POINT
const GAP = 1.5

/** Places the code and the texts on a label of this sheet. */
export function layOut({ name, tag, id }: LabelText, sheet: Sheet, measure: Measure): LabelLayout {
  const { code, text } = boxesOf(sheet)
  const foot = [...(tag === undefined || tag === '' ? [] : [tagLine(tag, text, measure)]), idLine(id, text, measure)]
  const footHeight = foot.reduce((sum, { size }) => sum + size * LEADING, 0)
  const lines = nameLines(onOneLine(name), { ...text, height: text.height - footHeight }, sheet, measure)
  let bottom = text.y + text.height
  const placed = foot.toReversed().map((line) => {
    const y = bottom - line.size * (LEADING - 1)
    bottom -= line.size * LEADING
    return { ...line, y }
  })
  return { code, text, lines: [...lines, ...placed.toReversed()] }
}

/** Puts the code beside the texts, or below them on a label that is not clearly wider than high. */
function boxesOf({ labelWidth, labelHeight, padding }: Sheet): Pick<LabelLayout, 'code' | 'text'> {
  const [width, height] = [labelWidth - 2 * padding, labelHeight - 2 * padding]
  if (width >= height * 1.2) {
    const side = Math.min(height, width * 0.42)
    const code = { x: padding + width - side, y: padding + (height - side) / 2, width: side, height: side }
    return { code, text: { x: padding, y: padding, width: width - side - GAP, height } }
  }
  const side = Math.min(width, height * 0.5)
  const code = { x: padding + (width - side) / 2, y: padding + height - side, width: side, height: side }
  return { code, text: { x: padding, y: padding, width, height: height - side - GAP } }
}

/** Sets the name in the largest size in which it fits. */
function nameLines(name: string, box: Box, { labelHeight }: Sheet, measure: Measure): TextLine[] {
  const direction = directionOf(name)
  const x = direction === 'rtl' ? box.x + box.width : box.x
  const place = (texts: readonly string[], size: number) =>
    texts.map((text, i) => ({ text, x, y: box.y + size * (0.9 + i * LEADING), size, weight: 700 as const, direction }))
  for (let size = Math.min(8, Math.max(LEAST_NAME, labelHeight * 0.15)); ; size *= 0.92) {
    const widthOf = (text: string) => measure(text, size, 700)
    const { lines, isBroken } = wrap(name, box.width, widthOf)
    const room = Math.max(1, Math.floor(box.height / (size * LEADING)))
    const isWhole = lines.length <= room
    if (isWhole && !isBroken) return place(lines, size)
    if (size * 0.92 >= LEAST_NAME) continue
    if (isWhole) return place(lines, size)
    const shown = lines.slice(0, room)
    shown[room - 1] = cut(`${shown[room - 1]} ${lines[room]}`, box.width, widthOf)
    return place(shown, size)
  }
}

function tagLine(tag: string, { x, width }: Box, measure: Measure): TextLine {
  const text = cut(onOneLine(tag), width, (part) => measure(part, SMALL, 400))
  const direction = directionOf(tag)
  return { text, x: direction === 'rtl' ? x + width : x, y: 0, size: SMALL, weight: 400, direction }
}

/** Never cuts the id off: the rest would be the id of another plant. */
function idLine(id: bigint, { x, width }: Box, measure: Measure): TextLine {
  const text = String(id)
  const size = Math.min(SMALL, (SMALL * width) / measure(text, SMALL, 400))
  return { text, x, y: 0, size, weight: 400, direction: 'ltr' }
}
