import { type Cells, csvLine } from '../csv-rows.ts'

/** Writes rows that a spreadsheet program has copied as text, as CSV. The program's HTML has no more of their texts. */
export const pastedCsv = (text: string): string => Array.from(rowsIn(text), (cells) => csvLine(cells)).join('')

/**
 * Divides text into rows at line ends, and into cells at tabs. Excel, LibreOffice and Google Sheets put a cell between
 * quotation marks only where it has a tab or a line end, and double those inside; other marks are a part of the text.
 */
function* rowsIn(copied: string): Generator<Cells, void> {
  // Old programs for Macintosh end lines with CR alone.
  const text = copied.includes('\n') ? copied : copied.replaceAll('\r', '\n')
  let cells: (string | undefined)[] = []
  for (let at = 0; at < text.length; ) {
    const mark = text[at] === '"' ? closingMark(text, at) : undefined
    const end = mark === undefined ? cellEnd(text, at) : mark + 1
    const cell = mark === undefined ? text.slice(at, end) : text.slice(at + 1, mark).replaceAll('""', '"')
    cells.push(cell === '' ? undefined : cell)
    at = end
    if (text[at] === '\t') {
      at += 1
      continue
    }
    at += text[at] === '\r' ? 2 : 1
    yield cells
    cells = []
  }
  if (cells.length > 0) yield cells
}

/** Where the cell that begins here ends: at a tab, at a line end or with the text. */
function cellEnd(text: string, from: number): number {
  END.lastIndex = from
  return END.exec(text)?.index ?? text.length
}

const END = /\t|\r?\n/g

/**
 * Where the cell that begins with this mark is closed; undefined if the mark is a part of the text. Marks of one cell
 * never close a later one, so that reading all cells takes linear time.
 */
function closingMark(text: string, from: number): number | undefined {
  let at = text.indexOf('"', from + 1)
  while (at !== -1 && text[at + 1] === '"') at = text.indexOf('"', at + 2)
  if (at === -1 || !/^(?:[\t\n]|\r\n|$)/.test(text.slice(at + 1, at + 3))) return undefined
  return /[\t\n\r]|""/.test(text.slice(from + 1, at)) ? at : undefined
}
