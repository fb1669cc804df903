import { setTimeout as sleep } from 'node:timers/promises'
import type { ActionOptions, ImportOptions as ClientOptions, ImportReport } from '../../client/src/index.ts'
import { type ImportMode, plantJson } from '../domain/plant.ts'
import { BATCH_ROWS, type Batch, type RefusedRow } from '../import/batch.ts'
import { ndjsonRow } from '../import/ndjson.ts'
import { type ImportSummary, putBatches } from '../import/run-import.ts'
import type { OpenedFile } from './import-sheet.ts'
import { encoded } from './plant-files.ts'
import { type Service, Unavailable } from './service-client.ts'

interface RetryOptions {
  /** Milliseconds. */
  readonly retryFor: number
  /** Ends a pause between two attempts, which then throws the signal's reason. */
  readonly stop: AbortSignal
  /** Called before the first pause. */
  readonly onWait: (error: Unavailable) => void
}

/** The most batches in one request, which takes a round trip over the network. */
const BATCHES = 5
/** Milliseconds that the service may take to store them. A busy service refuses them long before. */
const TIMEOUT = 60_000

/**
 * Imports rows in pieces through a running service. It sends a piece again when the answer is lost. This is safe, as
 * the service then counts the rows as unchanged.
 */
export function importThrough(
  service: Service,
  { mode, ...action }: { readonly mode: ImportMode } & ActionOptions,
  batches: AsyncIterable<Batch>,
  take: (summary: ImportSummary) => void,
  retrying: RetryOptions,
): Promise<void> {
  return putBatches(
    pieces(batches),
    async ({ plants, lines }) => {
      const body = plants.map((plant) => ndjsonRow(plant, mode)).join('')
      const send = () =>
        service.call((client) => client.importPlants(body, { mode, ...action, signal: AbortSignal.timeout(TIMEOUT) }))
      const { refusedRows, ...counts } = await retry(send, retrying)
      // A piece has one row in each line.
      return { ...counts, refusedRows: refusedRows.map((row) => ({ ...row, line: lines[row.line - 1] ?? 0 })) }
    },
    take,
  )
}

/**
 * Has a service read a whole file in one request, as a dry run does, and the assignment of ids. A sheet goes as NDJSON
 * with each plant in the line that its row has, and goes again when the answer is lost: the same rows get the same ids.
 */
export async function importWhole(
  service: Service,
  { format, content, batches, assignsIds }: OpenedFile,
  options: Pick<ClientOptions, 'mode' | 'dryRun' | 'duplicates' | 'ids' | 'signal'> & ActionOptions,
  retrying: RetryOptions,
): Promise<ImportReport> {
  let own: RefusedRow[] = []
  const rows = async function* () {
    let line = 1
    own = []
    for await (const { plants, lines, refused } of batches()) {
      own.push(...refused)
      for (const [i, plant] of plants.entries()) {
        const at = lines[i] ?? line
        yield '\n'.repeat(at - line) + (assignsIds ? `${plantJson(plant)}\n` : ndjsonRow(plant, options.mode))
        line = at + 1
      }
    }
  }
  const send = () =>
    service.call((client) =>
      client.importPlants(ReadableStream.from(content ?? encoded(rows())), {
        ...options,
        format: content === undefined ? 'ndjson' : format,
      }),
    )
  // A stream cannot be read again.
  const report = await (content === undefined ? retry(send, retrying) : send())
  const refusedRows = [...report.refusedRows, ...own].sort((a, b) => a.line - b.line)
  return { ...report, refused: report.refused + own.length, refusedRows }
}

/** Joins the batches of one chunk of the file. All but its last one are full. */
async function* pieces(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
  let gathered: Batch[] = []
  for await (const batch of batches) {
    const isFull = batch.plants.length + batch.refused.length >= BATCH_ROWS
    if (gathered.push(batch) < BATCHES && isFull) continue
    yield joined(gathered)
    gathered = []
  }
  if (gathered.length > 0) yield joined(gathered)
}

const joined = (batches: readonly Batch[]): Batch => ({
  plants: batches.flatMap(({ plants }) => plants),
  lines: batches.flatMap(({ lines }) => lines),
  refused: batches.flatMap(({ refused }) => refused),
})

const FIRST_PAUSE = 200
const MAX_PAUSE = 5000

/** Retries at growing intervals while the service is unavailable. At last throws its Unavailable. */
async function retry<T>(attempt: () => Promise<T>, { retryFor, stop, onWait }: RetryOptions): Promise<T> {
  const deadline = performance.now() + retryFor
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, MAX_PAUSE)) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const wait = Math.max(pause, error.retryAfter)
      if (performance.now() + wait > deadline) throw error
      if (pause === FIRST_PAUSE) onWait(error)
      await sleep(wait, undefined, { signal: stop }).catch(() => stop.throwIfAborted())
    }
  }
}
