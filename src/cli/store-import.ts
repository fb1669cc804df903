import { AppError } from '../errors.ts'
import type { Batch } from '../import/batch.ts'
import { type Format, type ReadOptions, readPlants } from '../import/format.ts'
import type { ImportMode, ImportResult, Store } from '../store.ts'
import { type BatchOutcome, feed, type Importer } from './feed.ts'

/** Imports straight into a store; each batch is a commit. */
export function storeImporter(store: Store, mode: ImportMode, format: Format, options: ReadOptions): Importer {
  const put = async ({ plants }: Batch) => outcomeOf(await store.importPlants(plants, mode))
  return (content, take) => feed(readPlants(format, content, options), put, take)
}

/** Tells what an import would do, and stores nothing. */
export function storeTrial(store: Store, mode: ImportMode, format: Format, options: ReadOptions): Importer {
  return async (content, take) => {
    const trial = await store.tryImport(mode)
    try {
      const put = async ({ plants }: Batch) => outcomeOf(await trial.tryPlants(plants))
      await feed(readPlants(format, content, options), put, take)
    } finally {
      await trial.close()
    }
  }
}

function outcomeOf(results: readonly ImportResult[]): BatchOutcome {
  const counts = { added: 0, updated: 0, unchanged: 0 }
  const refusals: BatchOutcome['refusals'][number][] = []
  results.forEach((result, index) => {
    if (result instanceof AppError) refusals.push({ index, error: result.number, message: result.message })
    else counts[result]++
  })
  return { ...counts, refused: refusals.length, refusals }
}
