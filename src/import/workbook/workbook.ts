import { kindOfFormat, type NumberKind, type Values } from './cells.ts'
import { readOpenDocument } from './open-document.ts'
import { type NamedCells, Room, readSheet, readTexts } from './sheet-part.ts'
import { attributesOf, eventsIn } from './xml.ts'
import { Archive, type Fault, WorkbookError } from './zip.ts'

export type WorkbookFault = Fault

/** A sheet of a workbook, as a file of CSV with commas, whose rows have the numbers of the sheet. */
export interface WorkbookSheet {
  readonly name: string
  readonly csv: File
  /** Rows that have a text in two columns or more. */
  readonly tableRows: number
  /** Cells that have got the text of the merged cell they belong to. */
  readonly filled: number
}

interface Relation {
  readonly id: string
  /** The last word of its type. */
  readonly type: string
  readonly path: string
}

interface NamedSheet {
  readonly name: string
  readonly path: string
}

const MOST_SHEETS = 1000
/** "EncryptedPackage" in UTF-16, as a workbook with a password has it in its container. */
const LOCKED = [...'EncryptedPackage'].join('\0')
const PIECE = 2 ** 20

/**
 * Reads the sheets of a workbook (.xlsx, ECMA-376; .ods) that have cells and are not hidden. Long numbers keep the digits that
 * the file has: a JavaScript number would round long ids.
 *
 * @param signal ends the read, with any result
 * @returns why there are none, for the caller to say in its own words
 */
export async function sheetsIn(file: File, signal: AbortSignal): Promise<readonly WorkbookSheet[] | WorkbookFault> {
  try {
    if (await isContainer(file)) return (await isLocked(file, signal)) ? 'locked' : '.xls'
    const archive = await Archive.open(file, signal)
    const sheets: WorkbookSheet[] = []
    for await (const { name, cells } of archive.has('content.xml') ? readOpenDocument(archive) : read(archive)) {
      const { isEmpty, tableRows, filled } = cells
      if (!isEmpty) sheets.push({ name, csv: new File(cells.lines(), file.name), tableRows, filled })
    }
    return sheets
  } catch (error) {
    // Whatever fails here is a fault of the file: a broken archive, part or text.
    return error instanceof WorkbookError ? error.fault : 'unreadable'
  }
}

/** Old workbooks, and those with a password, are no ZIP archives, but containers of Microsoft's (MS-OFFCRYPTO). */
async function isContainer(file: File): Promise<boolean> {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer())
  return start[0] === 0xd0 && start[1] === 0xcf
}

async function isLocked(file: File, signal: AbortSignal): Promise<boolean> {
  // In pieces, which overlap, as the file may be large, and the name stands anywhere.
  for (let at = 0; at < file.size; at += PIECE) {
    signal.throwIfAborted()
    const piece = await file.slice(at, at + PIECE + LOCKED.length).arrayBuffer()
    if (new TextDecoder('latin1').decode(piece).includes(LOCKED)) return true
  }
  return false
}

async function* read(archive: Archive): AsyncGenerator<NamedCells, void> {
  if (archive.has('Index/Document.iwa') || archive.has('Index.zip')) throw new WorkbookError('.numbers')
  const main = (await relationsOf(archive, '')).find(({ type }) => type === 'officeDocument')?.path
  if (main === undefined) throw new WorkbookError('unreadable')
  if (main.endsWith('.bin')) throw new WorkbookError('.xlsb')
  const relations = await relationsOf(archive, main)
  const pathOf = (type: string): string | undefined => {
    const path = relations.find((each) => each.type === type)?.path
    return path !== undefined && archive.has(path) ? path : undefined
  }
  const { named, isFrom1904 } = await readMain(archive, main, relations)
  const [textsPath, stylesPath] = [pathOf('sharedStrings'), pathOf('styles')]
  archive.requireSmall([textsPath, stylesPath, ...named.map(({ path }) => path)].filter((path) => path !== undefined))
  const values: Values = {
    texts: textsPath === undefined ? [] : await readTexts(archive.textOf(textsPath)),
    styles: stylesPath === undefined ? [] : await readStyles(archive.textOf(stylesPath)),
    isFrom1904,
  }
  const room = new Room()
  for (const { name, path } of named) yield { name, cells: await readSheet(archive.textOf(path), values, room) }
}

async function readMain(archive: Archive, path: string, relations: readonly Relation[]) {
  const byId = new Map(relations.map((relation) => [relation.id, relation]))
  const named: NamedSheet[] = []
  let isFrom1904 = false
  for await (const events of eventsIn(archive.textOf(path))) {
    for (const event of events) {
      if (event.kind !== 'open') continue
      const attributes = attributesOf(event.attributes)
      if (event.name === 'workbookPr') isFrom1904 = /^(1|true)$/.test(attributes.get('date1904') ?? '')
      if (event.name !== 'sheet' || /hidden/i.test(attributes.get('state') ?? '')) continue
      const relation = byId.get(attributes.get('id') ?? '')
      // Sheets of charts alone have no cells.
      if (relation?.type === 'worksheet') named.push({ name: attributes.get('name') ?? '', path: relation.path })
      if (named.length > MOST_SHEETS) throw new WorkbookError('large')
    }
  }
  return { named, isFrom1904 }
}

/** Reads the parts that a part names; those of the whole archive for ''. */
async function relationsOf(archive: Archive, path: string): Promise<readonly Relation[]> {
  const [, folder = '', name = ''] = /^(.*\/)?([^/]*)$/.exec(path) ?? []
  const relations: Relation[] = []
  for await (const events of eventsIn(archive.textOf(`${folder}_rels/${name}.rels`))) {
    for (const event of events) {
      if (event.kind !== 'open' || event.name !== 'Relationship') continue
      const attributes = attributesOf(event.attributes)
      const target = (attributes.get('Target') ?? '').replaceAll('\\', '/')
      relations.push({
        id: attributes.get('Id') ?? '',
        type: attributes.get('Type')?.split('/').at(-1) ?? '',
        path: new URL(target, `zip:/${folder}`).pathname.slice(1),
      })
    }
  }
  return relations
}

/** Reads how the numbers of each style of cells show. */
async function readStyles(pieces: AsyncIterable<string>): Promise<readonly NumberKind[]> {
  /** A format may be long, and have many styles. */
  const formats = new Map<string, NumberKind>()
  const styles: NumberKind[] = []
  let isOfCells = false
  for await (const events of eventsIn(pieces)) {
    for (const event of events) {
      if (event.kind === 'text') continue
      if (event.name === 'cellXfs') isOfCells = event.kind === 'open'
      if (event.kind === 'close') continue
      const attributes = attributesOf(event.attributes)
      const number = attributes.get('numFmtId') ?? '0'
      if (event.name === 'numFmt') formats.set(number, kindOfFormat(Number(number), attributes.get('formatCode') ?? ''))
      if (event.name !== 'xf' || !isOfCells) continue
      styles.push(formats.get(number) ?? kindOfFormat(Number(number), undefined))
    }
  }
  return styles
}
