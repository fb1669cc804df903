import { textLength } from '../domain/plant.ts'
import type { ImportMode } from '../domain/store.ts'
import type { Batch } from '../import/batch.ts'
import { type Format, MEDIA_TYPES, writePlants } from '../import/format.ts'
import type { Duplicates, ImportSummary } from '../import/import-summary.ts'
import { type BatchOutcome, putBatches } from '../import/run-import.ts'
import { type RetryOptions, retry, type ServiceClient } from './service-client.ts'

/** Rows, or UTF-16 units of their texts, after which a piece is sent as one request. */
const PIECE_ROWS = 5000
const PIECE_TEXT = 2 ** 19
/** Milliseconds that the service may take to store a piece. A busy service refuses it long before. */
const PIECE_TIMEOUT = 60_000

/**
 * Imports rows in pieces through a running service. It sends a piece again when the answer is lost. This is safe, as
 * the service then counts the rows as unchanged.
 */
export function importThrough(
  service: ServiceClient,
  mode: ImportMode,
  batches: AsyncIterable<Batch>,
  take: (summary: ImportSummary) => void,
  retrying: RetryOptions,
): Promise<void> {
  const send = (plants: Batch['plants']) =>
    service.importPlants(writePlants('ndjson', plants), {
      mediaType: MEDIA_TYPES.ndjson,
      query: new URLSearchParams({ mode }),
      signal: AbortSignal.timeout(PIECE_TIMEOUT),
    })
  const put = async ({ plants }: Batch): Promise<BatchOutcome> => {
    const { refusedRows, ...counts } = await retry(() => send(plants), retrying)
    // A piece has one row in each line.
    return { ...counts, refusals: refusedRows.map(({ line, ...refusal }) => ({ ...refusal, index: line - 1 })) }
  }
  return putBatches(pieces(batches), put, take)
}

/** Makes a dry run on a running service, in one request for the whole file: a row may depend on any earlier row. */
export function dryRunThrough(
  service: ServiceClient,
  options: { readonly mode: ImportMode; readonly dryRun: boolean; readonly duplicates: boolean },
  format: Format,
  content: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<ImportSummary & Partial<Duplicates>> {
  const query = new URLSearchParams(Object.entries(options).map(([name, value]) => [name, String(value)]))
  return service.importPlants(content, { mediaType: MEDIA_TYPES[format], query, signal })
}

/** Joins batches, because each request takes a round trip over the network. */
async function* pieces(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let gathered: Batch[] = []
  let rows = 0
  let text = 0
  for await (const batch of batches) {
    gathered.push(batch)
    rows += batch.plants.length + batch.refused.length
    for (const plant of batch.plants) text += textLength(plant)
    if (rows < PIECE_ROWS && text < PIECE_TEXT) continue
    yield joined(gathered)
    gathered = []
    rows = 0
    text = 0
  }
  if (gathered.length > 0) yield joined(gathered)
}

const joined = (batches: readonly Batch[]): Batch => ({
  plants: batches.flatMap(({ plants }) => plants),
  lines: batches.flatMap(({ lines }) => lines),
  refused: batches.flatMap(({ refused }) => refused),
})
