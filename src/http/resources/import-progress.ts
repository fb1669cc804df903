import { AppError, type ErrorNumber } from '../../errors.ts'
import type { Batch } from '../../import/batch.ts'
import type { ImportMode, ImportResult, Store } from '../../store.ts'

export interface ImportOptions {
  readonly mode: ImportMode
  /** Store nothing, but report what would have become of each row. */
  readonly dryRun: boolean
}

/** What became of the rows of a file. */
export interface ImportReport {
  readonly dryRun: boolean
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly refused: number
  /** The first refused rows, in their order, each with the line in which it begins. */
  readonly refusedRows: readonly RefusedRow[]
}

export interface RefusedRow {
  readonly line: number
  readonly error: ErrorNumber
  readonly message: string
}

/** Refused rows that a report tells of; the others are only counted. */
const MAX_TOLD = 1000

/**
 * Puts the rows of a file into a store, each batch with one commit, the next one read after it.
 *
 * @param signal no batch is put after it has aborted; its reason is thrown
 * @throws AppError when the store or the file fails in the middle; its message says how far the import got. What is stored
 *   by then stays, and importing the same file again does the rest
 */
export async function runImport(
  store: Store,
  batches: AsyncIterable<Batch>,
  { mode, dryRun }: ImportOptions,
  signal: AbortSignal,
): Promise<ImportReport> {
  const progress = new Progress(dryRun)
  const trial = dryRun ? await store.tryImport(mode) : undefined
  try {
    for await (const batch of batches) {
      signal.throwIfAborted()
      const { plants } = batch
      const put = () => (trial === undefined ? store.importPlants(plants, mode) : trial.tryPlants(plants))
      progress.add(batch, plants.length === 0 ? [] : await put())
    }
    return progress.report
  } catch (error) {
    throw error instanceof AppError ? progress.endedBy(error) : error
  } finally {
    await trial?.close()
  }
}

class Progress {
  readonly #dryRun: boolean
  readonly #counts = { added: 0, updated: 0, unchanged: 0, refused: 0 }
  readonly #told: RefusedRow[] = []
  /** The last row that is done begins here. */
  #line = 0

  constructor(dryRun: boolean) {
    this.#dryRun = dryRun
  }

  get report(): ImportReport {
    return { dryRun: this.#dryRun, ...this.#counts, refusedRows: this.#told }
  }

  add({ lines, refused }: Batch, results: readonly ImportResult[]): void {
    const rows = refused.map(({ line, refusal }) => refusedRow(line, refusal))
    results.forEach((result, i) => {
      if (result instanceof AppError) rows.push(refusedRow(lines[i] ?? 0, result))
      else this.#counts[result]++
    })
    this.#counts.refused += rows.length
    rows.sort((a, b) => a.line - b.line)
    this.#told.push(...rows.slice(0, MAX_TOLD - this.#told.length))
    this.#line = Math.max(this.#line, lines.at(-1) ?? 0, refused.at(-1)?.line ?? 0)
  }

  endedBy(error: AppError): AppError {
    const { number, headers } = error
    const message = [STORE_FAULTS[number] ?? error.message, this.#reached(), this.#rest(number)].join('; ')
    return new AppError(number, message, { headers: { ...headers }, cause: error.cause })
  }

  #reached(): string {
    const { added, updated, unchanged, refused } = this.#counts
    if (this.#line === 0) return 'no row was processed'
    const counts = `${added} added, ${updated} updated, ${unchanged} unchanged, ${refused} refused`
    return `all rows up to line ${this.#line} were processed (${counts})`
  }

  #rest(number: ErrorNumber): string {
    if (this.#dryRun) return 'nothing was stored'
    if (number === 50301) return 'further rows may be stored; importing the file again is safe'
    return 'no further row was stored; importing the file again is safe'
  }
}

/** The store's own messages speak of one request, all of whose rows have the same fate. */
const STORE_FAULTS: Readonly<Partial<Record<ErrorNumber, string>>> = {
  50301: 'the store is out of reach',
  50303: 'the service is shutting down',
  50304: 'the store has no space left',
}

const refusedRow = (line: number, { number, message }: Pick<AppError, 'number' | 'message'>): RefusedRow => ({
  line,
  error: number,
  message,
})
