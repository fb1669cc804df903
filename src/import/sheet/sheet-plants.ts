import { shown } from '../../base/printable.ts'
import { AppError } from '../../domain/errors.ts'
import { validatePlant } from '../../domain/plant.ts'
import type { CsvRow, Mapping } from '../csv-rows.ts'
import { FromAbove } from './from-above.ts'
import type { SheetLook } from './look.ts'
import type { Pieces } from './sheet.ts'
import { sheetCandidateOf } from './sheet-row.ts'

/** The plant of a row. Without an id in a sheet without ids. */
export interface RowPlant {
  readonly id: bigint | undefined
  readonly name: string
  readonly tag: string | undefined
}

/** A plant with its row. */
export interface PlantRow {
  readonly row: CsvRow
  readonly plant: RowPlant
}

/**
 * @param columns the names of the columns of the sheet
 * @throws AppError 40001 or 40002 that says why the row has no plant
 */
export function plantOf(row: CsvRow, mapping: Mapping, columns: readonly string[]): RowPlant {
  const hasId = mapping.id !== undefined
  const candidate = sheetCandidateOf(row, mapping, columns)
  const { id, name, tag } = validatePlant(hasId ? candidate : { ...candidate, id: 0n }, shown)
  return { id: hasId ? id : undefined, name, tag }
}

/** How to read the rows of a sheet. */
export interface RowPlan {
  readonly mapping: Mapping
  readonly columns: readonly string[]
}

/** Yields the rows as the plan takes them. */
export async function* plannedRows(pieces: Pieces<CsvRow>, mapping: Mapping): Pieces<CsvRow> {
  const [genera, tags] = [FromAbove.genus(mapping), new FromAbove(mapping.fillsTags === true ? mapping.tag : undefined)]
  function* filled(rows: Iterable<CsvRow>): Generator<CsvRow, void> {
    for (const row of rows) yield tags.fill(genera.fill(row))
  }
  for await (const rows of pieces) yield filled(rows)
}

/**
 * Yields the rows that have a plant.
 *
 * @param look takes all rows
 * @param reasonOf words why a row has none
 */
export async function* plantsOf(
  pieces: Pieces<CsvRow>,
  plan: RowPlan,
  look?: SheetLook,
  reasonOf = ({ message }: AppError): string => message,
): Pieces<PlantRow> {
  for await (const rows of plannedRows(pieces, plan.mapping)) yield plantsIn(rows, plan, look, reasonOf)
}

function* plantsIn(
  rows: Iterable<CsvRow>,
  { mapping, columns }: RowPlan,
  look: SheetLook | undefined,
  reasonOf: (error: AppError) => string,
): Generator<PlantRow, void> {
  for (const row of rows) {
    try {
      const plant = plantOf(row, mapping, columns)
      look?.take(row)
      yield { row, plant }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      look?.refuse(row, reasonOf(error))
    }
  }
}

/** Divides plants into parts of at most so many, which end with the plant that fills them with UTF-16 units of text. */
export async function* partsOf<Row extends Pick<PlantRow, 'plant'>>(
  pieces: Pieces<Row>,
  most: number,
  mostText = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Row[], void> {
  let part: Row[] = []
  let text = 0
  for await (const plants of pieces) {
    for (const each of plants) {
      part.push(each)
      text += each.plant.name.length + (each.plant.tag?.length ?? 0)
      if (part.length < most && text < mostText) continue
      yield part
      part = []
      text = 0
    }
  }
  if (part.length > 0) yield part
}
