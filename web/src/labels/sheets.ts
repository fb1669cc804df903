import { say } from '../language/language.ts'

/** A sheet or roll of labels. All lengths are millimetres. */
export interface Sheet {
  readonly width: number
  readonly height: number
  readonly columns: number
  readonly rows: number
  /** From the edges of the sheet to those of its first label. */
  readonly left: number
  readonly top: number
  readonly labelWidth: number
  readonly labelHeight: number
  /** From the edge of one label to the same edge of the next one. */
  readonly across: number
  readonly down: number
  /** The blank margin inside a label: printers and cutters miss by about a millimetre. */
  readonly padding: number
}

const INCH = 25.4

export const L7160: Sheet = {
  width: 210,
  height: 297,
  columns: 3,
  rows: 7,
  left: 7.25,
  top: 15.15,
  labelWidth: 63.5,
  labelHeight: 38.1,
  across: 66,
  down: 38.1,
  padding: 2,
}

export const A5160: Sheet = {
  width: 8.5 * INCH,
  height: 11 * INCH,
  columns: 3,
  rows: 10,
  left: 0.1875 * INCH,
  top: 0.5 * INCH,
  labelWidth: 2.625 * INCH,
  labelHeight: INCH,
  across: 2.75 * INCH,
  down: INCH,
  padding: 2,
}

/** Most label printers cannot print the outer 1.5 mm. */
export const ROLL_PADDING = 2.5

/**
 * Each label is one page: label printers cut the roll after each.
 *
 * @param left how far the printer must print to the right of the middle of the roll, below 0 to its left
 */
export const roll = (width: number, length: number, left = 0): Sheet => ({
  width,
  height: length,
  columns: 1,
  rows: 1,
  left,
  top: 0,
  labelWidth: width,
  labelHeight: length,
  across: width,
  down: length,
  padding: ROLL_PADDING,
})

export const labelsPerPage = ({ columns, rows }: Sheet): number => columns * rows

export interface Place {
  readonly page: number
  readonly x: number
  readonly y: number
}

/** Returns the place of a label. `index` counts from 0, row by row. */
export function placeOf(sheet: Sheet, index: number): Place {
  const perPage = labelsPerPage(sheet)
  const onPage = index % perPage
  return {
    page: Math.floor(index / perPage),
    x: sheet.left + (onPage % sheet.columns) * sheet.across,
    y: sheet.top + Math.floor(onPage / sheet.columns) * sheet.down,
  }
}

/** A member of a sheet, and its fault. */
export type SheetFault = readonly [member: keyof Sheet, fault: string]

/** The smallest label on which a code and a name fit. */
const LEAST = { labelWidth: 20, labelHeight: 12 }
const LONGEST = 1000
const MOST_COLUMNS = 50
/** Lengths that people measure with a ruler do not add up exactly. */
const TOLERANCE = 0.2

/** Returns the faults of a sheet that a person has described. */
export function faultsOf(sheet: Sheet): SheetFault[] {
  const faults: SheetFault[] = []
  const within = (member: keyof Sheet, least: number, most: number, isWhole = false): void => {
    const value = sheet[member]
    const isRight = value >= least && value <= most && (!isWhole || Number.isInteger(value))
    if (!isRight) faults.push([member, say(isWhole ? 'labels.badWhole' : 'labels.badNumber', { least, most })])
  }
  within('width', LEAST.labelWidth, LONGEST)
  within('height', LEAST.labelHeight, LONGEST)
  within('columns', 1, MOST_COLUMNS, true)
  within('rows', 1, MOST_COLUMNS, true)
  within('labelWidth', LEAST.labelWidth, LONGEST)
  within('labelHeight', LEAST.labelHeight, LONGEST)
  // A printer that prints off the middle of a roll can be led back, as far as the label is blank.
  const isOne = sheet.columns === 1 && sheet.rows === 1 && sheet.padding > 0
  within('left', isOne ? -sheet.padding : 0, LONGEST)
  within('top', 0, LONGEST)
  within('padding', 0, Math.min(sheet.labelWidth, sheet.labelHeight) / 4)
  if (faults.length > 0) return faults
  const { columns, rows } = sheet
  if (columns > 1 && sheet.across < sheet.labelWidth) faults.push(['across', say('labels.badAcross')])
  if (rows > 1 && sheet.down < sheet.labelHeight) faults.push(['down', say('labels.badDown')])
  const right = sheet.left + (columns - 1) * sheet.across + sheet.labelWidth
  const bottom = sheet.top + (rows - 1) * sheet.down + sheet.labelHeight
  if (!(right <= sheet.width + TOLERANCE)) faults.push(['width', say('labels.badEnd', { end: shown(right) })])
  if (!(bottom <= sheet.height + TOLERANCE)) {
    faults.push(['height', say('labels.badEnd', { end: shown(bottom) })])
  }
  return faults
}

const shown = (length: number): number => Math.round(length * 100) / 100
