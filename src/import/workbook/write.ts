import { type Cells, letters } from '../csv-rows.ts'
import { checksum } from './zip.ts'

/** The most digits of a number that spreadsheet programs keep. Longer ids become texts. */
const MOST_DIGITS = 15
const CONTENT = 'http://schemas.openxmlformats.org/package/2006'
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'

/**
 * Writes a workbook (.xlsx, ECMA-376) of one sheet. The first column has numbers below a header, the others texts, so
 * that no program takes a name for a formula or a date.
 */
export async function workbookOf(name: string, rows: readonly Cells[]): Promise<Blob> {
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
  const relations = (list: string): string =>
    `${HEAD}<Relationships xmlns="${CONTENT}/relationships">${list}</Relationships>`
  return zipped(
    [
      [
        '[Content_Types].xml',
        [
          `${HEAD}<Types xmlns="${CONTENT}/content-types">`,
          `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>`,
          `<Override PartName="/xl/workbook.xml" ContentType="${type}.sheet.main+xml"/>`,
          `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${type}.worksheet+xml"/></Types>`,
        ],
      ],
      ['_rels/.rels', [relations(`<Relationship Id="r1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/>`)]],
      [
        'xl/workbook.xml',
        [
          `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets>`,
          `<sheet name="${escaped(name)}" sheetId="1" r:id="r1"/></sheets></workbook>`,
        ],
      ],
      [
        'xl/_rels/workbook.xml.rels',
        [relations(`<Relationship Id="r1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>`)],
      ],
      [
        'xl/worksheets/sheet1.xml',
        [`${HEAD}<worksheet xmlns="${MAIN}"><sheetData>`, ...rows.map(rowOf), '</sheetData></worksheet>'],
      ],
    ],
    `${type}.sheet`,
  )
}

const rowOf = (cells: Cells, row: number): string =>
  `<row r="${row + 1}">${cells.map((text, column) => cellOf(text, row, column)).join('')}</row>`

function cellOf(text: string | undefined, row: number, column: number): string {
  if (text === undefined) return ''
  const place = `r="${letters(column)}${row + 1}"`
  if (column === 0 && row > 0 && text.length <= MOST_DIGITS) return `<c ${place}><v>${text}</v></c>`
  return `<c ${place} t="inlineStr"><is><t xml:space="preserve">${escaped(text)}</t></is></c>`
}

const ENTITIES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' }

/** Escapes what XML cannot hold as `_x0001_`, and with it what already looks so. */
const escaped = (text: string): string =>
  text
    .replaceAll(/_(?=x[0-9a-f]{4}_)/gi, '_x005F_')
    .replaceAll(/[\p{Cc}\ufffe\uffff]/gu, (c) => (c === '\t' || c === '\n' ? c : `_x${hex(c)}_`))
    .replaceAll(/[<>&"]/g, (c) => ENTITIES[c] ?? c)
    .toWellFormed()

const hex = (c: string): string => c.charCodeAt(0).toString(16).padStart(4, '0')

/** Writes a ZIP archive of parts. */
async function zipped(parts: readonly (readonly [name: string, content: string[]])[], type: string): Promise<Blob> {
  const pieces: (Blob | Uint8Array<ArrayBuffer>)[] = []
  const directory: Uint8Array<ArrayBuffer>[] = []
  let at = 0
  for (const [name, content] of parts) {
    const bytes = new Blob(content)
    const packed = await new Response(bytes.stream().pipeThrough(new CompressionStream('deflate-raw'))).blob()
    const local = headerOf(0x04034b50, 30, name, [
      [4, 20, 2],
      [6, UTF_8, 2],
      [8, DEFLATED, 2],
      [12, FIRST_DAY, 2],
      [14, checksum(new Uint8Array(await bytes.arrayBuffer())), 4],
      [18, packed.size, 4],
      [22, bytes.size, 4],
      [26, name.length, 2],
    ])
    // The entry of the directory repeats the header of the part from its second number on.
    const entry = headerOf(0x02014b50, 46, name, [
      [4, 20, 2],
      [42, at, 4],
    ])
    entry.set(local.subarray(4, 30), 6)
    pieces.push(local, packed)
    directory.push(entry)
    at += local.length + packed.size
  }
  const length = directory.reduce((sum, entry) => sum + entry.length, 0)
  const end = headerOf(0x06054b50, 22, '', [
    [8, parts.length, 2],
    [10, parts.length, 2],
    [12, length, 4],
    [16, at, 4],
  ])
  return new Blob([...pieces, ...directory, end], { type })
}

const UTF_8 = 0x800
const DEFLATED = 8
/** 1980-01-01, the first day of the format. A date of today would make each file another one. */
const FIRST_DAY = 0x21

/** A header with numbers at their places. */
function headerOf(
  mark: number,
  length: number,
  name: string,
  numbers: readonly (readonly [at: number, value: number, bytes: 2 | 4])[],
): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(length + name.length)
  const view = new DataView(header.buffer)
  view.setUint32(0, mark, true)
  for (const [at, value, bytes] of numbers) {
    if (bytes === 2) view.setUint16(at, value, true)
    else view.setUint32(at, value, true)
  }
  header.set(new TextEncoder().encode(name), length)
  return header
}
