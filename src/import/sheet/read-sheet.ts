import { shown } from '../../base/printable.ts'
import { AppError } from '../../domain/errors.ts'
import { deletedPlant, type ImportedPlant, type ImportMode, validatePlant } from '../../domain/plant.ts'
import { type Batch, batchesOf, ROW_LIMIT, UNNUMBERED } from '../batch.ts'
import { type CsvRow, CsvRows, type Mapping, type NamedColumns } from '../csv-rows.ts'
import { asUtf8, textOf } from '../encoding.ts'
import { isSum } from './column-names.ts'
import { headerOf, mappingOf } from './columns.ts'
import { endsByReturn } from './encoding.ts'
import { FromAbove } from './from-above.ts'
import { LOOK, openSheet, plantRows, type Reading, type Sheet } from './sheet.ts'
import { sheetCandidateOf } from './sheet-row.ts'

export type SheetPlan = Omit<Sheet, 'file' | 'first' | 'below'> & { readonly mapping: Mapping }

/** Opens a sheet by the names of its columns. @throws AppError 40001 */
export async function openByNames(
  file: Blob,
  wanted: NamedColumns,
  reading: Reading = {},
  isBeginning = false,
): Promise<Sheet & SheetPlan> {
  const sheet = await openSheet(file, reading, { findHeader: (rows) => headerOf(rows, wanted), isBeginning })
  return { ...sheet, mapping: mappingOf(requireRows(sheet).columns, wanted) }
}

/** @throws AppError 40001 for a file without cells */
export function requireRows(sheet: Sheet): Sheet {
  if (sheet.first.length === 0) throw new AppError(40001, 'the sheet has no cells')
  return sheet
}

/** Opens a sheet by the names of its columns and by its first 64 KiB, and reads its plants. See `readPlants`. */
export async function* readStreamedSheet(
  source: AsyncIterable<Buffer>,
  wanted: NamedColumns,
  reading: Reading,
  mode: ImportMode,
): AsyncGenerator<Batch, void> {
  const chunks = source[Symbol.asyncIterator]()
  try {
    const { start, isWhole } = await startOf(chunks)
    // What a file is taken for does not depend on the pieces in which it arrives.
    const isBeginning = !isWhole || start.length > LOOK
    const sample = start.subarray(0, LOOK)
    // A line, and so a character, ends where the sample does.
    const end = isBeginning ? sample.lastIndexOf('\n') + 1 || sample.lastIndexOf('\r') + 1 : start.length
    const blob = new Blob([new Uint8Array(sample.subarray(0, end || LOOK))])
    const plan = await openByNames(blob, wanted, reading, isBeginning)
    yield* readSheet(continued(start, chunks), plan, mode)
  } finally {
    await chunks.return?.()
  }
}

/** Reads the beginning of a stream: LOOK bytes and the rest of a chunk, or all of a shorter one. */
export async function startOf(chunks: AsyncIterator<Buffer>): Promise<{ start: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = []
  for (let length = 0; length < LOOK; ) {
    const { done, value } = await chunks.next()
    if (done === true) return { start: Buffer.concat(pieces), isWhole: true }
    pieces.push(value)
    length += value.length
  }
  return { start: Buffer.concat(pieces), isWhole: false }
}

/** Yields the beginning of a stream, and then the rest of it. Leaving the iteration early does not end the stream. */
export async function* continued(start: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer, void> {
  if (start.length > 0) yield start
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
}

/**
 * Reads a plant from each row below the names of the columns. See `readPlants`. Without a column of ids, each plant has
 * the id UNNUMBERED, and a row that looks like a sum is refused.
 *
 * @param place what the rows of the batches count: lines, or rows as a spreadsheet does
 */
export function readSheet(
  source: AsyncIterable<Buffer>,
  plan: SheetPlan,
  mode: ImportMode,
  place: 'line' | 'number' = 'line',
): AsyncGenerator<Batch, void> {
  const { encoding, separator, isQuoted, columns, mapping } = plan
  const rows = new CsvRows(ROW_LIMIT, place)
  rows.separator = separator
  rows.isQuoted = isQuoted
  const genera = FromAbove.genus(mapping)
  const plants = function* (divided: Iterable<CsvRow>): Generator<CsvRow, void> {
    for (const row of plantRows(divided, plan, UTF8)) yield { ...genera.fill(row), line: row[place] }
  }
  const divider = {
    divide: (chunk: Buffer) => plants(rows.divide(chunk.toString('latin1'))),
    end: () => plants(rows.end()),
  }
  const plantIn = (row: CsvRow): ImportedPlant => {
    const candidate = sheetCandidateOf(row, mapping, columns, textOf)
    if (mode === 'delete') return deletedPlant(candidate, shown)
    if (mapping.id !== undefined) return validatePlant(candidate, shown)
    const plant = validatePlant({ ...candidate, id: UNNUMBERED }, shown)
    if (!isSum(plant.name)) return plant
    throw new AppError(40002, `the row looks like a sum and not like a plant: its name is ${shown(plant.name)}`)
  }
  return batchesOf(withLineFeeds(asUtf8(source, encoding)), divider, plantIn)
}

/** A text as the bytes of its UTF-8, of which the rows of a stream are. */
const UTF8 = (text: string): string => Buffer.from(text).toString('latin1')

/** Writes LF for the CR by which old programs end lines. */
async function* withLineFeeds(text: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let isOld: boolean | undefined
  for await (const piece of text) {
    isOld ??= endsByReturn(piece.toString('latin1'))
    yield isOld ? Buffer.from(piece.toString('latin1').replaceAll('\r', '\n'), 'latin1') : piece
  }
}
