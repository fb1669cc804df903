import type { ImportReport, NewPlant, Plant, RefusedRow } from './contract.generated.ts'
import { int64, withId } from './exact-json.ts'

/** A plant of an import. With `before`, mode `update` refuses it (41201) unless the stored plant is so. */
export interface ImportedPlant extends NewPlant {
  readonly before?: Plant
}

/** A file of plants (its text is a string or a Blob), or an iterable of plants. */
export type ImportSource = Blob | string | Iterable<ImportedPlant> | AsyncIterable<ImportedPlant>

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
  plants: Iterable<ImportedPlant> | AsyncIterable<ImportedPlant>,
): AsyncGenerator<Batch, void, undefined> {
  let lines: string[] = []
  let text = 0
  const batch = (): Batch => ({ ndjson: lines.join(''), rows: lines.length })
  for await (const { id, name, tag, before } of plants) {
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

export const emptyReport = (dryRun: boolean): ImportReport => ({
  dryRun,
  added: 0,
  updated: 0,
  unchanged: 0,
  refused: 0,
  refusedRows: [],
})

/** The report of an answer, in which short ids are numbers. */
export const withExactIds = ({ duplicateRows, ...report }: ImportReport): ImportReport =>
  duplicateRows === undefined
    ? report
    : { ...report, duplicateRows: duplicateRows.map(({ line, id }) => ({ line, id: int64(id) })) }

/** Joins the reports of two parts. @param rows the number of rows before those of `next` */
export function joined(before: ImportReport, next: ImportReport, rows: number): ImportReport {
  const moved = next.refusedRows.map((row): RefusedRow => ({ ...row, line: row.line + rows }))
  return {
    dryRun: next.dryRun,
    added: before.added + next.added,
    updated: before.updated + next.updated,
    unchanged: before.unchanged + next.unchanged,
    refused: before.refused + next.refused,
    refusedRows: [...before.refusedRows, ...moved].slice(0, MAX_REFUSED),
  }
}
