import { AppError } from '../domain/errors.ts'
import type { ImportMode, ImportResult } from '../domain/plant.ts'
import type { Store } from '../domain/store.ts'
import type { Actor } from '../domain/token.ts'
import type { Batch, RefusedRow } from './batch.ts'
import { DuplicateFinder, type Duplicates } from './duplicates.ts'

interface ImportOptions {
  readonly mode: ImportMode
  /** Whether to store nothing, and report the result that each row would have. */
  readonly dryRun: boolean
  /** Whether a dry run looks for rows that would add a plant with the name and the tag of a stored one. */
  readonly duplicates: boolean
  readonly actor: Actor
}

export interface BatchOutcome extends ImportCounts {
  /** The first refused plants, by their index in the batch. */
  readonly refusals: readonly (Omit<RefusedRow, 'line'> & { readonly index: number })[]
}

type PutBatch = (batch: Batch) => Promise<BatchOutcome>

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
  { mode, dryRun, duplicates, actor }: ImportOptions,
  take: TakeSummary,
  signal?: AbortSignal,
): Promise<Duplicates | undefined> {
  if (!dryRun) {
    const put: PutBatch = async ({ plants }) => outcomeOf(await store.importPlants(plants, mode, actor), mode)
    await putBatches(batches, put, take, signal)
    return undefined
  }
  const run = await store.startDryRun(mode)
  try {
    const finder = duplicates ? new DuplicateFinder(() => run.storedPlants(signal)) : undefined
    const put: PutBatch = async (batch) => {
      const results = await run.importPlants(batch.plants)
      await finder?.add(batch, results)
      return outcomeOf(results, mode)
    }
    await putBatches(batches, put, take, signal)
    return await finder?.end()
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
      underWay = outcome.then((known) => take(summaryOf(batch, known), lastLineOf(batch)))
      // A later await of `underWay` throws the rejection. Until then Node.js must not count it as unhandled.
      underWay.catch(() => {})
    }
  } finally {
    await underWay
  }
}

const NOTHING: BatchOutcome = { added: 0, updated: 0, unchanged: 0, refused: 0, refusals: [] }

function outcomeOf(results: readonly ImportResult[], mode: ImportMode): BatchOutcome {
  const counts = { added: 0, updated: 0, unchanged: 0, deleted: 0 }
  const refusals: BatchOutcome['refusals'][number][] = []
  results.forEach((result, index) => {
    if (result instanceof AppError) refusals.push({ index, error: result.number, message: result.message })
    else counts[result]++
  })
  const { deleted, ...others } = counts
  return { ...others, ...(mode === 'delete' ? { deleted } : {}), refused: refusals.length, refusals }
}

/** Merges rows without a valid plant and rows that the store refused, in the order of their lines. */
function summaryOf({ lines, refused, stored = [] }: Batch, outcome: BatchOutcome): ImportSummary {
  const { refusals, ...counts } = outcome
  const unstored = refusals.map(({ index, ...refusal }) => ({ line: lines[index] ?? 0, ...refusal }))
  const refusedRows = refused.length === 0 ? unstored : [...refused, ...unstored].sort((a, b) => a.line - b.line)
  const unchanged = counts.unchanged + stored.length
  return { ...counts, unchanged, refused: counts.refused + refused.length, refusedRows }
}

const lastLineOf = ({ lines, refused, stored = [] }: Batch): number =>
  Math.max(lines.at(-1) ?? 0, refused.at(-1)?.line ?? 0, stored.at(-1) ?? 0)

export interface ImportCounts {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  /** Of an import in mode `delete` alone. */
  readonly deleted?: number | undefined
  readonly refused: number
}

export interface ImportSummary extends ImportCounts {
  readonly refusedRows: readonly RefusedRow[]
}

/** The most refused rows that a summary lists. It only counts further ones. */
export const LISTED_ROWS = 1000

/** Adds up the results of the rows of one file. */
export class ImportTotals {
  counts: ImportCounts
  /** The first LISTED_ROWS refused rows. */
  readonly refusedRows: RefusedRow[] = []

  constructor(mode: ImportMode) {
    this.counts = { added: 0, updated: 0, unchanged: 0, ...(mode === 'delete' ? { deleted: 0 } : {}), refused: 0 }
  }

  get rows(): number {
    return Object.values(this.counts).reduce((sum, rows) => sum + rows, 0)
  }

  /** @returns the refused rows that are listed now */
  count({ added, updated, unchanged, deleted = 0, refused, refusedRows }: ImportSummary): readonly RefusedRow[] {
    const before = this.counts
    this.counts = {
      added: before.added + added,
      updated: before.updated + updated,
      unchanged: before.unchanged + unchanged,
      ...(before.deleted === undefined ? {} : { deleted: before.deleted + deleted }),
      refused: before.refused + refused,
    }
    const listed = refusedRows.slice(0, LISTED_ROWS - this.refusedRows.length)
    this.refusedRows.push(...listed)
    return listed
  }
}
