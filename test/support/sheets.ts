import { readdirSync, readFileSync } from 'node:fs'
import { writeColumns } from '../../src/import/sheet/columns.ts'
import { guess } from '../../src/import/sheet/guess.ts'
import { AS_WRITTEN, isWorkbook, type Pieces, plantSheetOf } from '../../src/import/sheet/sheet.ts'
import { plannedRows, type RowPlant } from '../../src/import/sheet/sheet-plants.ts'
import { sheetsIn } from '../../src/import/workbook/workbook.ts'
import { plantIn } from '../../web/src/import/plant-row.ts'
import { openSheet, rowsOf, type Sheet } from '../../web/src/import/sheet.ts'

const FOLDER = new URL('../import/fixtures/sheets/', import.meta.url)

/** The names of the sheets as people have them. */
export const SHEETS: readonly string[] = readdirSync(FOLDER).toSorted()

export const sheetPath = (name: string): URL => new URL(name, FOLDER)

export const isWorkbookName = (name: string): boolean => /\.(xlsx|ods)$/.test(name)

/** Opens a sheet, or the fullest one of a workbook, as the page does by itself. */
async function openAsPage(name: string): Promise<Sheet> {
  const file = new File([readFileSync(sheetPath(name))], name)
  if (!(await isWorkbook(file))) return openSheet(file)
  const sheets = await sheetsIn(file, new AbortController().signal)
  const csv = typeof sheets === 'string' ? undefined : (await plantSheetOf(sheets))?.csv
  if (csv === undefined) throw new Error(`${name} has no sheets`)
  return openSheet(csv, AS_WRITTEN)
}

export const allOf = async <T, R>(pieces: Pieces<T>, of: (each: T) => R): Promise<readonly R[]> =>
  (await Array.fromAsync(pieces, (piece) => Array.from(piece, of))).flat()

/** A sheet as the page reads it by itself. */
export async function readAsPage(name: string) {
  const sheet = await openAsPage(name)
  const mapping = guess(sheet.columns, sheet.below, sheet.header !== 0)
  const rows = await allOf(plannedRows(rowsOf(sheet), mapping), (row) => plantIn(row, mapping, sheet.columns))
  return {
    sheet,
    mapping,
    /** As the command and the service are told them. */
    columns: writeColumns(sheet.columns, mapping),
    hasIds: mapping.id !== undefined,
    plants: rows.filter((row) => typeof row !== 'string'),
    refused: rows.filter((row) => typeof row === 'string').length,
  }
}

/** Plants by name and tag, and by id where the sheet has ids: what two readings of it have in common. */
export const inCommon = (plants: readonly RowPlant[], hasIds: boolean): string[] =>
  plants.map(({ id, name, tag }) => JSON.stringify([hasIds ? String(id) : '', name, tag ?? null])).toSorted()
