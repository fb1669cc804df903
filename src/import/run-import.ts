import { AppError } from '../domain/errors.ts'
import type { ImportMode, ImportResult } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'
import type { Actor } from '../domain/token.ts'
import type { Batch, RefusedRow } from './batch.ts'
import { DuplicateFinder, type Duplicates } from './duplicates.ts'
import { SimilarFinder } from './similar.ts'
import { storedPlants } from './stored-plants.ts'

interface ImportOptions {
  readonly mode: ImportMode
  /** Whether to store nothing, and report the result that each row would have. */
  readonly dryRun: boolean
  /** Whether a dry run looks for rows that would add a plant with the name and the tag of a stored one. */
  readonly duplicates: boolean
  /** How the rows get ids, if they have none. Then a dry run also looks for stored plants that they look like. */
  readonly ids?: AssignedIds | undefined
  readonly actor: Actor
}

/** What becomes of rows without ids whose name and tag a stored plant has: they are left out, or add a plant as all do. */
export type AssignedIds = 'assign' | 'assignAll'

/** Puts the plants of a batch. Returns their results, without the rows that have no plant to put. */
type PutBatch = (batch: Batch) => Promise<ImportSummary>

/** @param lastLine the line in which the last row of the batch begins */
export type TakeSummary = (summary: ImportSummary, lastLine: number) => void

/**
 * Imports batches into a store, each with one commit. With `dryRun` it stores nothing.
 *
 * @param take called after each commit
 * @param signal ends the import before the next batch, with its reason
 * @returns the duplicates that the options ask for
 */
export async function runImport(
  store: Store,
  batches: AsyncIterable<Batch>,
  { mode, dryRun, duplicates, ids, actor }: ImportOptions,
  take: TakeSummary,
  signal?: AbortSignal,
): Promise<Duplicates | undefined> {
  if (!dryRun) {
    const put: PutBatch = async ({ plants, lines }) =>
      outcomeOf(await store.importPlants(plants, mode, actor), lines, mode)
    await putBatches(batches, put, take, signal)
    return undefined
  }
  const run = await store.startDryRun(mode)
  try {
    const finder = duplicates
      ? new DuplicateFinder(
          storedPlants(store, () => run.storedPlants(signal), signal),
          {},
          ids !== undefined ? new SimilarFinder((filter) => store.exportPlants(filter, '-id', signal)) : undefined,
        )
      : undefined
    const put: PutBatch = async (batch) => {
      const results = await run.importPlants(batch.plants)
      await finder?.add(batch, results)
      return outcomeOf(results, batch.lines, mode)
    }
    await putBatches(batches, put, take, signal)
    const found = await finder?.end()
    if (found !== undefined && ids === 'assign') {
      take({ ...NOTHING, added: -found.duplicates, unchanged: found.duplicates }, 0)
    }
    return found
  } finally {
    await run.close()
  }
}

/** Puts each batch while the next one is being read. Settles after the last put. */
export async function putBatches(
  batches: AsyncIterable<Batch>,
  put: PutBatch,
  take: TakeSummary,
  signal?: AbortSignal,
): Promise<void> {
  let underWay = Promise.resolve()
  try {
    for await (const batch of batches) {
      await underWay
      signal?.throwIfAborted()
      const outcome = batch.plants.length === 0 ? Promise.resolve(NOTHING) : put(batch)
      underWay = outcome.then((known) => take(withOthers(batch, known), lastLineOf(batch)))
      // A later await of `underWay` throws the rejection. Until then Node.js must not count it as unhandled.
      underWay.catch(() => {})
    }
  } finally {
    await underWay
  }
}

const NOTHING: ImportSummary = { added: 0, updated: 0, unchanged: 0, refused: 0, refusedRows: [] }

function outcomeOf(results: readonly ImportResult[], lines: readonly number[], mode: ImportMode): ImportSummary {
  const counts = { added: 0, updated: 0, unchanged: 0, deleted: 0 }
  const refusedRows: RefusedRow[] = []
  for (const [i, result] of results.entries()) {
    if (!(result instanceof AppError)) counts[result]++
    else refusedRows.push({ line: lines[i] ?? 0, error: result.number, message: result.message })
  }
  const { deleted, ...others } = counts
  return { ...others, ...(mode === 'delete' ? { deleted } : {}), refused: refusedRows.length, refusedRows }
}

/** Adds the rows without a valid plant, in the order of their lines, and those whose plant is stored already. */
function withOthers(
  { refused, stored = [] }: Batch,
  { refusedRows: unstored, ...counts }: ImportSummary,
): ImportSummary {
  const refusedRows = refused.length === 0 ? unstored : [...refused, ...unstored].sort((a, b) => a.line - b.line)
  const unchanged = counts.unchanged + stored.length
  return { ...counts, unchanged, refused: counts.refused + refused.length, refusedRows }
}

const lastLineOf = ({ lines, refused, stored = [] }: Batch): number =>
  Math.max(lines.at(-1) ?? 0, refused.at(-1)?.line ?? 0, stored.at(-1) ?? 0)

interface ImportCounts {
  added: number
  updated: number
  unchanged: number
  /** Of an import in mode `delete` alone. */
  deleted?: number | undefined
  refused: number
}

export interface ImportSummary extends Readonly<ImportCounts> {
  readonly refusedRows: readonly RefusedRow[]
}

/** The most refused rows that a summary lists. It only counts further ones. */
export const LISTED_ROWS = 1000

export class ImportTotals {
  readonly counts: ImportCounts
  /** The first LISTED_ROWS refused rows. */
  readonly refusedRows: RefusedRow[] = []

  constructor(mode: ImportMode) {
    this.counts = { added: 0, updated: 0, unchanged: 0, ...(mode === 'delete' ? { deleted: 0 } : {}), refused: 0 }
  }

  get rows(): number {
    return Object.values(this.counts).reduce((sum, rows) => sum + rows, 0)
  }

  /** @returns the refused rows that are listed now */
  count({ refusedRows, ...counts }: ImportSummary): readonly RefusedRow[] {
    const own = Object.keys(this.counts) as (keyof ImportCounts)[]
    for (const key of own) this.counts[key] = (this.counts[key] ?? 0) + (counts[key] ?? 0)
    const listed = refusedRows.slice(0, LISTED_ROWS - this.refusedRows.length)
    this.refusedRows.push(...listed)
    return listed
  }
}
