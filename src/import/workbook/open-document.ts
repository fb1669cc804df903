import { letters, WITHOUT_VALUE } from '../csv-rows.ts'
import { numberOf } from './cells.ts'
import { MOST_COLUMNS, MOST_ROWS, type NamedCells, Room, SheetCells } from './sheet-part.ts'
import { attributesOf, eventsIn, type XmlEvent } from './xml.ts'
import { type Archive, WorkbookError } from './zip.ts'

const CONTENT = 'content.xml'
const MANIFEST = 'META-INF/manifest.xml'

/**
 * UTF-16 units that a repeated cell takes of the room: a document of a few bytes may repeat one over all rows and
 * columns.
 */
const REPEATED = 16

/** Parts of a document whose texts no cell shows. Names have no prefix in the namespace `office`. */
const UNSEEN: ReadonlySet<string> = new Set(['annotation', 'table:tracked-changes', 'table:shapes', 'text:ruby-text'])
const isUnseen = (name: string): boolean => UNSEEN.has(name) || name.startsWith('draw:')

/**
 * Reads the sheets of an OpenDocument spreadsheet (ODF 1.3 part 3, 9.1), as LibreOffice saves them.
 *
 * @throws WorkbookError
 */
export async function* readOpenDocument(archive: Archive): AsyncGenerator<NamedCells, void> {
  archive.requireSmall([CONTENT])
  if (await isEncrypted(archive)) throw new WorkbookError('locked')
  const reader = new TableReader()
  for await (const events of eventsIn(archive.textOf(CONTENT))) {
    for (const event of events) {
      const sheet = reader.take(event)
      if (sheet !== undefined) yield sheet
    }
  }
}

async function isEncrypted(archive: Archive): Promise<boolean> {
  if (!archive.has(MANIFEST)) return false
  for await (const events of eventsIn(archive.textOf(MANIFEST))) {
    if (events.some((event) => event.kind === 'open' && event.name === 'encryption-data')) return true
  }
  return false
}

interface Cell {
  readonly attributes: ReadonlyMap<string, string>
  readonly column: number
  readonly repeated: number
  text: string
  paragraphs: number
}

class TableReader {
  readonly #room = new Room()
  /** Styles of sheets that are hidden. */
  readonly #hidden = new Set<string>()
  #style = ''
  #sheet: NamedCells | undefined
  #isHidden = false
  #merged: { top: number; left: number; bottom: number }[] = []
  /** The present row, or the last of several equal ones. */
  #row = 0
  #repeatedRow = 1
  #column = 0
  #cells: { readonly column: number; readonly text: string }[] = []
  #cell: Cell | undefined
  #inParagraph = 0
  /** Elements around this one, from one that no cell shows on. */
  #unseen = 0

  /** @returns the sheet that the event ends */
  take(event: XmlEvent): NamedCells | undefined {
    if (event.kind === 'text') {
      if (this.#cell !== undefined && this.#inParagraph > 0 && this.#unseen === 0) {
        this.#cell.text += event.text.replaceAll(/[\t\r\n ]+/g, ' ')
      }
      return undefined
    }
    if (this.#unseen > 0 || isUnseen(event.name)) {
      this.#unseen += event.kind === 'open' ? 1 : -1
      return undefined
    }
    if (event.kind === 'close') return this.#close(event.name)
    this.#open(event.name, attributesOf(event.attributes))
    return undefined
  }

  #open(name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === 'style:style') this.#style = attributes.get('name') ?? ''
    else if (name === 'style:table-properties') {
      if (attributes.get('display') === 'false') this.#hidden.add(this.#style)
    } else if (name === 'table:table') {
      this.#sheet = { name: attributes.get('name') ?? '', cells: new SheetCells(this.#room) }
      this.#isHidden = this.#hidden.has(attributes.get('style-name') ?? '')
      this.#row = 0
    } else if (name === 'table:table-row') {
      this.#repeatedRow = countOf(attributes.get('number-rows-repeated'))
      this.#column = 0
      this.#cells = []
    } else if (name === 'table:covered-table-cell') {
      // What it has is under the merged cell.
      this.#column += countOf(attributes.get('number-columns-repeated'))
    } else if (name === 'table:table-cell') {
      const repeated = countOf(attributes.get('number-columns-repeated'))
      this.#cell = { attributes, column: this.#column, repeated, text: '', paragraphs: 0 }
      this.#column += repeated
      this.#inParagraph = 0
      const rows = countOf(attributes.get('number-rows-spanned'))
      const [top, left] = [this.#row + 1, this.#cell.column]
      if (rows > 1) this.#merged.push({ top, left, bottom: Math.min(MOST_ROWS, top + rows - 1) })
    } else if (this.#cell !== undefined) this.#openText(this.#cell, name, attributes)
  }

  #openText(cell: Cell, name: string, attributes: ReadonlyMap<string, string>): void {
    if (name === 'text:p') {
      if (cell.paragraphs > 0) cell.text += '\n'
      cell.paragraphs += 1
      this.#inParagraph += 1
    } else if (name === 'text:s') {
      const count = countOf(attributes.get('c'))
      this.#room.take(count)
      cell.text += ' '.repeat(count)
    } else if (name === 'text:tab') cell.text += '\t'
    else if (name === 'text:line-break') cell.text += '\n'
  }

  #close(name: string): NamedCells | undefined {
    if (name === 'text:p') this.#inParagraph -= 1
    else if (name === 'table:table-cell') this.#endCell()
    else if (name === 'table:table-row') this.#endRow()
    else if (name === 'table:table') return this.#endSheet()
    return undefined
  }

  #endCell(): void {
    const cell = this.#cell
    this.#cell = undefined
    if (cell === undefined || this.#isHidden) return
    const text = textOf(cell, `${letters(cell.column)}${this.#row + 1}`)
    if (text === undefined) return
    if (cell.column + cell.repeated > MOST_COLUMNS) throw new WorkbookError('unreadable')
    this.#room.take(REPEATED * (cell.repeated - 1))
    for (let i = 0; i < cell.repeated; i++) this.#cells.push({ column: cell.column + i, text })
  }

  #endRow(): void {
    const [first, last] = [this.#row + 1, this.#row + this.#repeatedRow]
    this.#row = last
    if (this.#cells.length === 0) return
    if (last > MOST_ROWS) throw new WorkbookError('unreadable')
    this.#room.take(REPEATED * this.#cells.length * (this.#repeatedRow - 1))
    for (let row = first; row <= last; row++) {
      for (const { column, text } of this.#cells) this.#sheet?.cells.put(row, column, text)
    }
  }

  #endSheet(): NamedCells | undefined {
    const sheet = this.#isHidden ? undefined : this.#sheet
    for (const range of this.#merged) sheet?.cells.fill(range)
    this.#merged = []
    this.#sheet = undefined
    return sheet
  }
}

function countOf(text: string | undefined): number {
  const count = Number(text ?? 1)
  return Number.isSafeInteger(count) && count > 0 ? count : 1
}

/** Returns what the cell shows, written as that of another workbook; undefined for an empty one. */
function textOf({ attributes, text }: Cell, place: string): string | undefined {
  const type = attributes.get('value-type')
  const value = attributes.get('value') ?? ''
  if (type === undefined && text === '') return attributes.has('formula') ? `${WITHOUT_VALUE}${place}` : undefined
  if (type === 'float' || type === 'currency') return numberAs(numberOf(value), text)
  if (type === 'date') return dateOf(attributes.get('date-value') ?? '') ?? text
  if (type === 'time') return clockOf(attributes.get('time-value') ?? '') ?? text
  if (type === 'boolean') return attributes.get('boolean-value') === 'true' ? 'TRUE' : 'FALSE'
  return text === '' ? undefined : text
}

/** Digits in groups of thousands, as programs show large numbers. */
const GROUPED = /^-?\d{1,3}(?:[.,'’\u00a0\u202f]\d{3})+$/

/**
 * A form of the digits, such as 007, or the decimals of the cell, show more than the number. What groups or rounds its
 * digits does not.
 */
function numberAs(number: string, shown: string): string {
  const [, whole, decimals = ''] = /^(-?\d+)[.,](\d{1,15})$/.exec(shown) ?? []
  if (whole !== undefined && Number(number).toFixed(decimals.length) === `${Number(whole)}.${decimals}`)
    return `${whole}.${decimals}`
  const [, sign = '', digits] = /^(-?)(\d+)$/.exec(number) ?? []
  const isForm = digits !== undefined && shown.replaceAll(/\D/g, '').replace(/^0+(?=\d)/, '') === digits
  return isForm && shown.startsWith(sign) && !GROUPED.test(shown) ? shown : number
}

function dateOf(value: string): string | undefined {
  const [, date, time = ''] = /^(\d{4,}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?))?/.exec(value) ?? []
  if (date === undefined) return undefined
  const clock = time.replace(/^(\d\d:\d\d):00$/, '$1')
  return clock === '' || clock === '00:00' ? date : `${date} ${clock}`
}

function clockOf(value: string): string | undefined {
  const [, hours, minutes, seconds] = /^PT(\d+)H(\d\d)M(\d\d)/.exec(value) ?? []
  if (hours === undefined || minutes === undefined) return undefined
  return seconds === '00' ? `${hours}:${minutes}` : `${hours}:${minutes}:${seconds}`
}
