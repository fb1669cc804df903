import type { CsvRow } from '../../../src/import/csv-rows.ts'
import {
  type Sheet as AnySheet,
  openSheet as openAnySheet,
  type Pieces,
  type Reading,
  rowsOf as rowsOfAny,
} from '../../../src/import/sheet/sheet.ts'
import { say } from '../language/language.ts'
import { PageError } from '../page/said.ts'

/** Plants that the preview shows. */
const SHOWN = 5

/** A spreadsheet that the person has chosen. */
export interface Sheet extends AnySheet {
  readonly file: File
  /** The first rows below the header, which the page shows. */
  readonly preview: readonly CsvRow[]
}

/** @throws Error that tells the person why the file is not readable as CSV */
export async function openSheet(file: File, chosen?: Reading): Promise<Sheet> {
  const sheet = await openAnySheet(file, chosen, { unnamed: (letters) => say('import.column', { letters }) })
  if (sheet.first.length === 0) throw new PageError(say('import.noRows'))
  return { ...sheet, file, preview: sheet.below.slice(0, SHOWN) }
}

/** Yields the rows below the header, without blank ones. */
export async function* rowsOf(sheet: Sheet): Pieces<CsvRow> {
  try {
    yield* rowsOfAny(sheet)
  } catch (error) {
    // So browsers report a file that was changed or deleted since it was chosen.
    throw error instanceof TypeError ? new PageError(say('fault.fileChanged')) : error
  }
}
