import { OperatorError, usageError } from '../base/operator-error.ts'
import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import type { ImportMode } from '../domain/plant.ts'
import type { Batch } from '../import/batch.ts'
import { type NamedColumns, SEPARATORS } from '../import/csv-rows.ts'
import { type Format, readPlants } from '../import/format.ts'
import { listed, readColumns, writeColumns } from '../import/sheet/columns.ts'
import { guess } from '../import/sheet/guess.ts'
import { type Findings, lacksIds } from '../import/sheet/look.ts'
import { continued, openByNames, readSheet, requireRows, type SheetPlan, startOf } from '../import/sheet/read-sheet.ts'
import { textsIn } from '../import/sheet/row-text.ts'
import { AS_WRITTEN, isWorkbook, openSheet, plantSheetOf, type Reading, type Sheet } from '../import/sheet/sheet.ts'
import { sheetsIn, type WorkbookFault } from '../import/workbook/workbook.ts'
import { ask, canAsk, note } from './output.ts'
import { firstRefusal, linesOf, lookAt, noValueOf, refusesMost } from './sheet-lines.ts'
import { abortOnSignal } from './signals.ts'

/** A file of plants, or one of which a spreadsheet program knows how to read it. */
export interface OpenedFile {
  readonly format: Format
  /** The bytes of a file that a service reads as it is; undefined for a sheet. */
  readonly content: AsyncGenerator<Buffer> | undefined
  /** Reads the plants. Those of a file that a service reads can be read once. */
  batches(): AsyncIterable<Batch>
  readonly assignsIds: boolean
  readonly place: 'line' | 'row'
}

interface SheetOptions {
  readonly columns: NamedColumns | undefined
  readonly mode: ImportMode
  readonly quiet: boolean
}

/** Bytes of a sheet, which the command reads more than once. */
const MOST_BYTES = 2 ** 27

const OTHER = 'save it as .xlsx or .ods, or save the sheet as CSV'

const FAULTS: Readonly<Record<WorkbookFault, string>> = {
  unreadable: 'the workbook cannot be read; open it in a spreadsheet program, and save the sheet as CSV',
  locked: 'the workbook has a password; save it without one, or the sheet as CSV',
  large: 'the workbook unpacks to more than 128 MiB; save the sheet as CSV',
  '.xls': `the file is an old workbook (.xls); ${OTHER}`,
  '.xlsb': `the file is a binary workbook (.xlsb); ${OTHER}`,
  '.numbers': 'the file is a document of Numbers; export it as Excel or CSV',
}

/**
 * Opens a file of CSV with the columns `id`, `name` and `tag`, or any sheet and workbook: by the names of its columns,
 * else as it looks, which the person at the terminal must confirm.
 *
 * @throws OperatorError that says how to name the columns, where nobody can be asked (exit code 2)
 */
export async function openTable(
  file: string,
  content: AsyncGenerator<Buffer>,
  { columns, mode, quiet }: SheetOptions,
): Promise<OpenedFile> {
  const { start, isWhole } = await startOf(content)
  const whole = continued(start, content)
  if (columns === undefined && (await isPlain(start, mode))) {
    const batches = () => readPlants('csv', whole, { mode })
    return { format: 'csv', content: whole, batches, assignsIds: false, place: 'line' }
  }
  const bytes = isWhole ? new Blob([new Uint8Array(start)]) : await gathered(file, whole)
  const { blob, reading, name } = await sheetIn(file, bytes)
  const first = columns === undefined ? await guessed(blob, reading) : await openByNames(blob, columns, reading)
  const found = await lookAt(first)
  const drops = columns === undefined && !isCertain(first) && lacksIds(first.columns, first.mapping, found)
  const opened = drops ? { ...first, mapping: { ...first.mapping, id: undefined } } : first
  const seen = drops ? await lookAt(opened) : found
  const assignsIds = opened.mapping.id === undefined
  if (assignsIds && mode !== 'add') {
    throw usageError(`--mode ${mode}`, 'needs rows with ids; name their column as --columns id=…')
  }
  const isCsv = name === ''
  const form = isCsv ? `${opened.encoding}, ${SEPARATORS[opened.separator]}; ` : name
  const lines = [`${file}: ${form}${described(opened)}`, ...linesOf(opened, seen)]
  const asks = columns === undefined && !isCertain(opened)
  const plan = asks ? await confirmed(file, lines, opened, seen) : opened
  if (!asks && !quiet) for (const line of lines) note(line)
  const batches = () => readSheet(bytesOf(blob), plan, mode, isCsv ? 'line' : 'number')
  return { format: 'csv', content: undefined, batches, assignsIds, place: isCsv ? 'line' : 'row' }
}

/** Whether a file begins as a file of plants, whose header names no columns but `id`, `name` and `tag`. */
async function isPlain(start: Buffer, mode: ImportMode): Promise<boolean> {
  const source = async function* () {
    yield start
  }
  try {
    await readPlants('csv', source(), { mode }).next()
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

async function gathered(file: string, content: AsyncIterable<Buffer>): Promise<Blob> {
  const pieces: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  for await (const piece of content) {
    length += piece.length
    if (length > MOST_BYTES) {
      throw new OperatorError(
        `${file}: a sheet may have at most 128 MiB; a file with the columns id, name and tag any size`,
      )
    }
    pieces.push(new Uint8Array(piece))
  }
  return new Blob(pieces)
}

async function* bytesOf(blob: Blob): AsyncGenerator<Buffer, void> {
  for await (const piece of blob.stream()) yield Buffer.from(piece)
}

/** The sheet in a file: of a workbook the one of the plants. */
async function sheetIn(file: string, bytes: Blob): Promise<{ blob: Blob; reading: Reading; name: string }> {
  if (!(await isWorkbook(bytes))) return { blob: bytes, reading: {}, name: '' }
  const stop = abortOnSignal()
  const sheets = await sheetsIn(new File([bytes], file), stop)
  stop.throwIfAborted()
  if (typeof sheets === 'string') throw new OperatorError(`${file}: ${FAULTS[sheets]}`)
  const best = await plantSheetOf(sheets)
  if (best === undefined) throw new OperatorError(`${file}: the workbook has no cells`)
  const which = sheets.length === 1 ? '' : `, the likeliest of ${sheets.length} sheets`
  return { blob: best.csv, reading: AS_WRITTEN, name: `sheet ${shown(best.name)}${which}; ` }
}

async function guessed(blob: Blob, reading: Reading): Promise<Sheet & SheetPlan> {
  const sheet = requireRows(await openSheet(blob, reading))
  return { ...sheet, mapping: guess(sheet.columns, sheet.below, sheet.header !== 0) }
}

function described({ header, columns, mapping }: SheetPlan): string {
  const heading = header === 0 ? 'no row names the columns' : `row ${header} names the columns`
  const named = (at: number): string => shown(columns[at] ?? '')
  const id = mapping.id === undefined ? 'ids are assigned' : `ids in ${named(mapping.id)}`
  const tag = mapping.tag === undefined ? 'no tags' : `tags in ${named(mapping.tag)}`
  return `${heading}; ${id}, names in ${mapping.name.map(named).join(' and ')}, ${tag}`
}

/** Whether the columns say themselves what they hold, as those of a file of plants do. */
const isCertain = ({ columns, mapping }: SheetPlan): boolean =>
  mapping.id !== undefined && columns.every((column) => ['id', 'name', 'tag'].includes(column.toLowerCase()))

const SHOWN = 5

/**
 * Asks the person at the terminal for a yes, and what tags such as NA are.
 *
 * @throws OperatorError where the columns of the names are unknown, most rows would be refused, or nobody agrees
 */
async function confirmed(
  file: string,
  lines: readonly string[],
  plan: Sheet & SheetPlan,
  seen: Findings,
): Promise<Sheet & SheetPlan> {
  const { columns, mapping, below } = plan
  const named = mapping.name.length > 0 && !refusesMost(seen)
  const hint = named ? writeColumns(columns, mapping).join(',') : 'name=…,tag=…'
  const has = `it has the columns ${listed(columns)}`
  if (!named || !canAsk()) {
    const most = mapping.name.length > 0 && !named ? `most rows would be refused (${firstRefusal(seen)}); ` : ''
    const why = `${most}say which columns hold the plants, such as --columns '${hint.replaceAll("'", "'\\''")}'; ${has}`
    throw usageError(file, why)
  }
  for (const line of lines) note(line)
  note(`The first of its rows; ${has}:`)
  for (const { cells } of below.slice(0, SHOWN)) note(`  ${textsIn(cells).join(' | ')}`)
  const dropsNoValues = seen.noValues > 0 && (await ask(`Leave out the tags ${noValueOf(seen)}? [y/N] `))
  if (await ask('Import it so? [y/N] ')) return { ...plan, mapping: { ...mapping, dropsNoValues } }
  throw new OperatorError(`nothing was stored; name the columns with --columns, such as --columns '${hint}'`)
}

/** Reads the flag `--columns`. @throws OperatorError (exit code 2) */
export function columnsOf(flags: readonly string[] | undefined): NamedColumns | undefined {
  if (flags === undefined) return undefined
  try {
    return readColumns(flags.flatMap((flag) => flag.split(/,\s*(?=[a-z]+=)/i)))
  } catch (error) {
    throw error instanceof AppError ? new OperatorError(`--${error.message}`, { exitCode: 2 }) : error
  }
}
