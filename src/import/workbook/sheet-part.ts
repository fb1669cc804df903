import { csvLine, letters, WITHOUT_VALUE } from '../csv-rows.ts'
import { textOfCell, unescaped, type Values } from './cells.ts'
import { attributesOf, eventsIn, type XmlEvent } from './xml.ts'
import { WorkbookError } from './zip.ts'

/** UTF-16 units of the CSV of all sheets: cells may repeat a shared text, and may be far to the right. */
const MOST_TEXT = 2 ** 27
/** The rows and columns of a sheet (Excel's own bounds). */
export const MOST_ROWS = 2 ** 20
export const MOST_COLUMNS = 2 ** 14
/** Separators and the line end of an empty row. */
const ROW = 2
/**
 * An empty cell before others. Its place takes 8 bytes of memory, and twice that while the row grows: with 1, a workbook
 * of 2 kB took 2 GiB.
 */
const PLACE = 16

export interface Range {
  readonly top: number
  readonly left: number
  readonly bottom: number
}

type Cells = (string | undefined)[]

/** The text that the sheets of one workbook may still have. */
export class Room {
  #left = MOST_TEXT

  /** @throws WorkbookError when there is no room left */
  take(length: number): void {
    this.#left -= length
    if (this.#left < 0) throw new WorkbookError('large')
  }
}

export interface NamedCells {
  readonly name: string
  readonly cells: SheetCells
}

/** The cells of a sheet, by rows and columns from 1 and 0. */
export class SheetCells {
  readonly #rows = new Map<number, Cells>()
  readonly #room: Room
  /** Cells that have got the text of the merged cell they belong to. */
  filled = 0

  constructor(room: Room) {
    this.#room = room
  }

  get tableRows(): number {
    let count = 0
    for (const cells of this.#rows.values()) {
      if (cells.filter((text) => text !== undefined && text.trim() !== '').length > 1) count += 1
    }
    return count
  }

  get isEmpty(): boolean {
    return this.#rows.size === 0
  }

  /** @throws WorkbookError for a place that no sheet has, or when the workbook has too much text */
  put(row: number, column: number, text: string): void {
    let cells = this.#rows.get(row)
    if (cells === undefined) {
      cells = []
      this.#rows.set(row, cells)
      this.#room.take(ROW)
    }
    this.#room.take(text.length + 1 + PLACE * Math.max(0, column - cells.length))
    while (cells.length < column) cells.push(undefined)
    cells[column] = text
  }

  /**
   * Fills a merged range downwards, as a bed that is written once holds for the rows beside it. Not to the right, where
   * other columns are, and not into rows that have nothing else.
   */
  fill({ top, left, bottom }: Range): void {
    const text = this.#rows.get(top)?.[left]
    if (text === undefined) return
    this.#room.take(bottom - top)
    for (let row = top + 1; row <= bottom; row++) {
      if (!this.#rows.has(row)) continue
      this.put(row, left, text)
      this.filled += 1
    }
  }

  /** The rows as lines of CSV, in their places. */
  lines(): string[] {
    const lines: string[] = []
    let next = 1
    for (const [row, cells] of [...this.#rows].toSorted(([a], [b]) => a - b)) {
      this.#room.take(ROW * (row - next))
      lines.push('\r\n'.repeat(row - next), csvLine(cells))
      next = row + 1
    }
    return lines
  }
}

/** Reads the part of a sheet. Rows and cells without a place follow the one before (ECMA-376 part 1, 18.3.1.4, .73). */
export async function readSheet(pieces: AsyncIterable<string>, values: Values, room: Room): Promise<SheetCells> {
  const cells = new SheetCells(room)
  const merged: Range[] = []
  const text = new TextInside('v', 't')
  let [row, column, type] = [0, -1, 'n']
  let style: string | undefined
  let [isFormula, hasValue] = [false, false]
  for await (const events of eventsIn(pieces)) {
    for (const event of events) {
      text.take(event)
      if (event.kind === 'text') continue
      const { kind, name } = event
      if (kind === 'close') {
        if (name !== 'c') continue
        // A formula may say that its value is the empty text.
        const isWithout = isFormula && text.value === '' && !(hasValue && type === 'str')
        const found = isWithout
          ? `${WITHOUT_VALUE}${letters(column)}${row}`
          : textOfCell(type, style, text.value, values)
        if (found !== undefined) cells.put(row, column, found)
      } else if (name === 'f') {
        isFormula = true
      } else if (name === 'v') {
        hasValue = true
      } else if (name === 'row') {
        row = rowIn(attributesOf(event.attributes).get('r') ?? String(row + 1))
        column = -1
      } else if (name === 'c') {
        const attributes = attributesOf(event.attributes)
        const place = attributes.get('r')
        column = place === undefined ? column + 1 : columnIn(place)
        type = attributes.get('t') ?? 'n'
        style = attributes.get('s')
        text.value = ''
        isFormula = false
        hasValue = false
      } else if (name === 'mergeCell') {
        const range = rangeIn(attributesOf(event.attributes).get('ref') ?? '')
        if (range !== undefined) merged.push(range)
      }
    }
  }
  for (const range of merged) cells.fill(range)
  return cells
}

export async function readTexts(pieces: AsyncIterable<string>): Promise<readonly string[]> {
  const texts: string[] = []
  const text = new TextInside('t')
  for await (const events of eventsIn(pieces)) {
    for (const event of events) {
      text.take(event)
      if (event.kind === 'text' || event.name !== 'si') continue
      // Here, because many cells may share a long text.
      if (event.kind === 'close') texts.push(unescaped(text.value))
      text.value = ''
    }
  }
  return texts
}

/** Joins the text inside some elements, without the phonetic readings of Japanese. */
class TextInside {
  readonly #names: readonly string[]
  #isInside = false
  #isPhonetic = false
  value = ''

  constructor(...names: readonly string[]) {
    this.#names = names
  }

  take(event: XmlEvent): void {
    if (event.kind === 'text') {
      if (this.#isInside) this.value += event.text
      return
    }
    if (event.name === 'rPh') this.#isPhonetic = event.kind === 'open'
    this.#isInside = event.kind === 'open' && this.#names.includes(event.name) && !this.#isPhonetic
  }
}

function rowIn(text: string): number {
  const row = Number(text)
  if (!Number.isInteger(row) || row < 1 || row > MOST_ROWS) throw new WorkbookError('unreadable')
  return row
}

/** The number of a column in a place such as `AB7`, from 0. */
function columnIn(place: string): number {
  const [, letters] = /^\$?([A-Z]{1,3})\$?\d+$/i.exec(place) ?? []
  if (letters === undefined) throw new WorkbookError('unreadable')
  const column = [...letters.toUpperCase()].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1
  if (column >= MOST_COLUMNS) throw new WorkbookError('unreadable')
  return column
}

/** A merged range of several rows, such as `A2:A6`. */
function rangeIn(ref: string): Range | undefined {
  const [from = '', to] = ref.split(':')
  if (to === undefined) return undefined
  const [top, bottom] = [from, to].map((place) => rowIn(/(?<!\d)\d+$/.exec(place)?.[0] ?? ''))
  return top === undefined || bottom === undefined || bottom <= top ? undefined : { top, bottom, left: columnIn(from) }
}
