import { type Cells, CsvRows, csvLine, type Separator } from '../../../src/import/csv-rows.ts'

/** A byte order mark. Without one, Excel reads a file as Windows-1252. */
const BYTE_ORDER_MARK = '\ufeff'

/** The separator that spreadsheet programs of this language expect: a semicolon where numbers have a decimal comma. */
function listSeparator(): Separator {
  const parts = new Intl.NumberFormat().formatToParts(1.5)
  return parts.some(({ type, value }) => type === 'decimal' && value === ',') ? ';' : ','
}

/** Writes a file that a spreadsheet program opens by a double click. */
export function spreadsheet(rows: readonly Cells[]): Blob {
  const separator = listSeparator()
  return new Blob([BYTE_ORDER_MARK, ...rows.map((cells) => csvLine(cells, separator))], { type: 'text/csv' })
}

/** What a spreadsheet program may show differently. */
export interface Pitfalls {
  /** Names and tags that begin like a formula. */
  formulas: number
  /** Ids with more digits than a spreadsheet program keeps. */
  longIds: number
}

/** https://owasp.org/www-community/attacks/CSV_Injection */
const FORMULA = /^[=+\-@\t\r]/
const LONG_ID = /[0-9]{16}/

/** Counts what a spreadsheet program may show differently. @param rows each with an id, and then texts */
export function pitfallsIn(rows: readonly Cells[]): Pitfalls {
  const found = { formulas: 0, longIds: 0 }
  for (const [id = '', ...texts] of rows) {
    if (LONG_ID.test(id)) found.longIds += 1
    found.formulas += texts.filter((each) => each !== undefined && FORMULA.test(each)).length
  }
  return found
}

/**
 * Rewrites an export of the service as a file that a spreadsheet program opens by a double click. Changes no text, so
 * that an import of the file gives the same plants.
 *
 * @param pitfalls counts what it finds
 */
export function forSpreadsheets(pitfalls: Pitfalls): TransformStream<Uint8Array, Uint8Array> {
  const separator = listSeparator()
  const rows = new CsvRows(Number.POSITIVE_INFINITY)
  rows.separator = ','
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  const rewrite = (divided: ReturnType<CsvRows['divide']>): Uint8Array => {
    let text = ''
    for (const { number, cells } of divided) {
      const [id = '', ...texts] = cells
      if (number > 1 && LONG_ID.test(id)) pitfalls.longIds += 1
      pitfalls.formulas += texts.filter((each) => each !== undefined && FORMULA.test(each)).length
      text += csvLine(cells, separator)
    }
    return encoder.encode(text)
  }
  return new TransformStream({
    start: (controller) => controller.enqueue(encoder.encode(BYTE_ORDER_MARK)),
    transform: (bytes, controller) => controller.enqueue(rewrite(rows.divide(decoder.decode(bytes, { stream: true })))),
    flush: (controller) => controller.enqueue(rewrite(rows.end())),
  })
}
