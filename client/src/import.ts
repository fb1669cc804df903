import type { ImportReport, NewPlant, Plant, RefusedRow } from './contract.generated.ts'
import { int64, withId } from './exact-json.ts'
import { plantOf } from './plants.ts'

/** A plant of an import. With `before`, mode `update` refuses it (41201) unless the stored plant is so. */
export interface ImportedPlant extends NewPlant {
  readonly before?: Plant
}

/** A row of an import. In mode `delete`, an id alone deletes any plant, and a plant only itself as it is here. */
export type ImportedRow = ImportedPlant | { readonly id: bigint; readonly name?: never; readonly tag?: never }

/** A file of plants (as a string, a Blob or a stream), or an iterable of plants. */
export type ImportSource =
  | Blob
  | string
  | ReadableStream<Uint8Array>
  | Iterable<ImportedRow>
  | AsyncIterable<ImportedRow>

/** UTF-16 units of a batch: few enough to retry quickly, many enough for speed. */
const BATCH_TEXT = 1_000_000
const BATCH_ROWS = 5000
/** The most refused rows that a report lists, as in the reports of the service. */
const MAX_REFUSED = 1000

export interface Batch {
  readonly ndjson: string
  readonly rows: number
}

/** Yields plants as NDJSON, in batches. */
export async function* batchesOf(
  plants: Iterable<ImportedRow> | AsyncIterable<ImportedRow>,
): AsyncGenerator<Batch, void, undefined> {
  let lines: string[] = []
  let text = 0
  const batch = (): Batch => ({ ndjson: lines.join(''), rows: lines.length })
  for await (const row of plants) {
    const { id, name, tag } = row
    const before = 'before' in row ? row.before : undefined
    const expected = before === undefined ? undefined : { name: before.name, tag: before.tag }
    const line = `${withId(id, { name, tag, before: expected })}\n`
    lines.push(line)
    text += line.length
    if (text < BATCH_TEXT && lines.length < BATCH_ROWS) continue
    yield batch()
    lines = []
    text = 0
  }
  if (lines.length > 0) yield batch()
}

/** All batches of NDJSON. */
export async function textsOf(source: Iterable<ImportedRow> | AsyncIterable<ImportedRow>): Promise<string[]> {
  const texts: string[] = []
  for await (const { ndjson } of batchesOf(source)) texts.push(ndjson)
  return texts
}

export const emptyReport = (dryRun: boolean): ImportReport => ({
  dryRun,
  added: 0,
  updated: 0,
  unchanged: 0,
  refused: 0,
  refusedRows: [],
})

/** The report of an answer, in which short ids are numbers. */
export function reportOf({ duplicateRows, similarRows, assignedRows, ...report }: ImportReport): ImportReport {
  return {
    ...report,
    ...(duplicateRows && { duplicateRows: duplicateRows.map((row) => ({ ...row, id: int64(row.id) })) }),
    ...(similarRows && { similarRows: similarRows.map(({ line, plant }) => ({ line, plant: plantOf(plant) })) }),
    ...(assignedRows && { assignedRows: assignedRows.map((row) => ({ ...row, id: int64(row.id) })) }),
  }
}

/** Joins the reports of two parts. @param rows the number of rows before those of `next` */
export function joined(before: ImportReport, next: ImportReport, rows: number): ImportReport {
  const moved = next.refusedRows.map((row): RefusedRow => ({ ...row, line: row.line + rows }))
  return {
    dryRun: next.dryRun,
    added: before.added + next.added,
    updated: before.updated + next.updated,
    unchanged: before.unchanged + next.unchanged,
    ...(next.deleted === undefined ? {} : { deleted: (before.deleted ?? 0) + next.deleted }),
    refused: before.refused + next.refused,
    refusedRows: [...before.refusedRows, ...moved].slice(0, MAX_REFUSED),
  }
}
