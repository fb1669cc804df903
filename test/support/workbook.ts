import assert from 'node:assert/strict'
import { crc32, deflateRawSync } from 'node:zlib'
import { sheetsIn, type WorkbookFault, type WorkbookSheet } from '../../src/import/workbook/workbook.ts'

interface Part {
  readonly name: string
  readonly content: string | Buffer
  /** The unpacked size that the directory says; by default the true one. */
  readonly said?: number
  readonly flags?: number
}

/** Writes a ZIP archive. @param isLong whether sizes and places stand in the fields of ZIP64, as some programs write them */
export function zip(parts: readonly Part[], isLong = false): Buffer {
  const pieces: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { name, content, said, flags = 0 } of parts) {
    const bytes = Buffer.from(content)
    const packed = deflateRawSync(bytes)
    const head = Buffer.alloc(46)
    const size = said ?? bytes.length
    head.writeUInt32LE(0x02014b50)
    head.writeUInt16LE(flags, 8)
    head.writeUInt16LE(8, 10)
    head.writeUInt32LE(crc32(bytes), 16)
    head.writeUInt32LE(isLong ? 0xffffffff : packed.length, 20)
    head.writeUInt32LE(isLong ? 0xffffffff : size, 24)
    head.writeUInt16LE(Buffer.byteLength(name), 28)
    head.writeUInt32LE(isLong ? 0xffffffff : at, 42)
    const long = Buffer.alloc(28)
    long.writeUInt16LE(1)
    long.writeUInt16LE(24, 2)
    for (const [i, value] of [size, packed.length, at].entries()) long.writeBigUInt64LE(BigInt(value), 4 + 8 * i)
    const extra = isLong ? long : Buffer.alloc(0)
    head.writeUInt16LE(extra.length, 30)
    directory.push(head, Buffer.from(name), extra)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50)
    local.writeUInt16LE(Buffer.byteLength(name), 26)
    pieces.push(local, Buffer.from(name), packed)
    at += local.length + Buffer.byteLength(name) + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(parts.length, 8)
  end.writeUInt16LE(parts.length, 10)
  const length = directory.reduce((sum, piece) => sum + piece.length, 0)
  end.writeUInt32LE(isLong ? 0xffffffff : length, 12)
  end.writeUInt32LE(isLong ? 0xffffffff : at, 16)
  if (!isLong) return Buffer.concat([...pieces, ...directory, end])
  const end64 = Buffer.alloc(56)
  end64.writeUInt32LE(0x06064b50)
  end64.writeBigUInt64LE(BigInt(length), 40)
  end64.writeBigUInt64LE(BigInt(at), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50)
  locator.writeBigUInt64LE(BigInt(at + length), 8)
  return Buffer.concat([...pieces, ...directory, end64, locator, end])
}

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'

/** Parts of a workbook. @param sheets the XML inside `worksheet` of each, by the names of the sheets */
export function partsOf(
  sheets: Readonly<Record<string, string>>,
  { texts = '', styles = '', said }: { readonly texts?: string; readonly styles?: string; readonly said?: number } = {},
): Part[] {
  const names = Object.keys(sheets)
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${OFFICE}/${type}" Target="${target}"/>`
  return [
    {
      name: '_rels/.rels',
      content: `<Relationships>${relation('a', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    },
    {
      name: 'xl/workbook.xml',
      content: `<workbook xmlns:r="${OFFICE}"><sheets>${names
        .map((name, i) => `<sheet name="${name}" sheetId="${i + 1}" r:id="r${i}"/>`)
        .join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: `<Relationships>${names
        .map((_, i) => relation(`r${i}`, 'worksheet', `worksheets/sheet${i + 1}.xml`))
        .join(
          '',
        )}${relation('t', 'sharedStrings', 'sharedStrings.xml')}${relation('s', 'styles', '/xl/styles.xml')}</Relationships>`,
    },
    { name: 'xl/sharedStrings.xml', content: `<sst>${texts}</sst>` },
    { name: 'xl/styles.xml', content: `<styleSheet>${styles}</styleSheet>` },
    ...names.map((name, i) => ({
      name: `xl/worksheets/sheet${i + 1}.xml`,
      content: `<?xml version="1.0"?><worksheet>${sheets[name]}</worksheet>`,
      ...(said === undefined ? {} : { said }),
    })),
  ]
}

export const workbook = (...parts: Parameters<typeof partsOf>): Buffer => zip(partsOf(...parts))

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** The rows of a sheet with cells of texts, as Excel places them. */
export function rowsOf(rows: readonly (readonly (string | undefined)[])[]): string {
  const cell = (text: string | undefined, row: number, column: number) =>
    text === undefined
      ? ''
      : `<c r="${String.fromCharCode(65 + column)}${row + 1}" t="inlineStr"><is><t>${escaped(text)}</t></is></c>`
  return `<sheetData>${rows
    .map((cells, row) => `<row r="${row + 1}">${cells.map((text, at) => cell(text, row, at)).join('')}</row>`)
    .join('')}</sheetData>`
}

export const openedAs = (bytes: Buffer): Promise<readonly WorkbookSheet[] | WorkbookFault> =>
  sheetsIn(new File([new Uint8Array(bytes)], 'plants.xlsx'), new AbortController().signal)

export async function sheetsOf(bytes: Buffer): Promise<readonly WorkbookSheet[]> {
  const found = await openedAs(bytes)
  assert.ok(typeof found !== 'string', `the workbook is ${String(found)}`)
  return found
}

/** The lines of the only sheet. */
export async function linesIn(bytes: Buffer): Promise<readonly string[]> {
  const [sheet, ...others] = await sheetsOf(bytes)
  assert.ok(sheet)
  assert.equal(others.length, 0)
  return (await sheet.csv.text()).split('\r\n').slice(0, -1)
}
