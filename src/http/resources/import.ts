import { AppError, type ErrorNumber } from '../../domain/errors.ts'
import type { Store } from '../../domain/store.ts'
import { FORMATS, type Format, MEDIA_TYPES, readPlants } from '../../import/format.ts'
import {
  type Duplicates,
  type ImportCounts,
  type ImportSummary,
  ImportTotals,
  type RefusedRow,
} from '../../import/import-summary.ts'
import { runImport, type TakeSummary } from '../../import/run-import.ts'
import type { Config } from '../../settings/config.ts'
import type { Admission } from '../admission/admission.ts'
import { requireScopes } from '../auth/bearer.ts'
import type { Exchange } from '../exchange.ts'
import { charsetOf } from '../request/body.ts'
import { bodyPieces } from '../request/body-pieces.ts'
import { type MediaType, readMediaType } from '../request/media-type.ts'
import { HttpError } from '../response/http-error.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'

/**
 * The handler of imports.
 *
 * @param stopping ends imports under way. Its reason is the AppError that they get
 */
export function importHandlers(
  store: Store,
  responder: Responder,
  admission: Admission,
  { bodyLimit, nestingLimit, stallTimeout, leastSpeed }: Config,
  stopping: AbortSignal,
): Pick<Handlers, 'importPlants'> {
  return {
    importPlants(exchange, options) {
      const type = readMediaType(exchange.request.headers['content-type'] ?? '')
      const format = formatOfType(type)
      if (options.duplicates) requireDuplicates(exchange, options.dryRun)
      const isUtf16 = type !== undefined && charsetOf(type) === 'utf-16'
      admission
        .during(options.dryRun ? 'dryRun' : 'import', exchange, async (ending) => {
          const signal = AbortSignal.any([ending, stopping])
          const pieces = bodyPieces(exchange, { stallTimeout, leastSpeed, signal })
          const batches = readPlants(format, pieces, { textLimit: bodyLimit, nestingLimit, isUtf16 })
          const reporter = new ImportReporter(options.dryRun)
          const details = () => ({ mode: options.mode, dryRun: options.dryRun, ...reporter.counts })
          exchange.change = { outcome: 'imported', details, isGradual: true }
          responder.audit.begins(exchange)
          try {
            const { actor } = exchange
            const take: TakeSummary = (...part) => reporter.add(...part)
            const duplicates = await runImport(store, batches, { ...options, actor }, take, signal)
            return { ...reporter.report, ...duplicates }
          } catch (error) {
            throw error instanceof AppError ? reporter.refusalOf(error) : error
          }
        })
        .finally(() => {
          // It may take longer than a client waits for its answer.
          if (!options.dryRun) void store.afterImport()
        })
        .then((report) => responder.reply(exchange, 200, ['Content-Type', JSON_TYPE], reportJson(report)))
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
  }
}

/** The format of a media type. The contract admits no types without a format. */
const formatOfType = (mediaType: MediaType | undefined): Format =>
  FORMATS.find((format) => MEDIA_TYPES[format] === mediaType?.type) ?? 'ndjson'

/** @throws AppError 40003 without a dry run, 40301 when the token may not read plants */
function requireDuplicates({ identity }: Exchange, dryRun: boolean): void {
  if (identity !== undefined) requireScopes(identity, ['plants:read'])
  if (!dryRun) throw new AppError(40003, 'duplicates must be left out or false without dryRun=true')
}

/** The body of the answer to an import. */
export interface ImportReport extends ImportSummary, Partial<Duplicates> {
  readonly dryRun: boolean
}

/** JSON.stringify writes no bigint, and takes 4 times as long with a replacer that does. */
function reportJson({ duplicateRows, ...report }: ImportReport): string {
  const json = JSON.stringify(report)
  if (duplicateRows === undefined) return json
  const rows = duplicateRows.map(({ line, id }) => `{"line":${line},"id":${id}}`)
  return `${json.slice(0, -1)},"duplicateRows":[${rows.join(',')}]}`
}

/** Collects the results of the rows of a file: for the answer, or for the refusal of an import that stops early. */
export class ImportReporter {
  readonly #dryRun: boolean
  readonly #totals = new ImportTotals()
  readonly #refusedRows: RefusedRow[] = []
  /** The line in which the last imported row begins. */
  #line = 0

  constructor(dryRun: boolean) {
    this.#dryRun = dryRun
  }

  get counts(): ImportCounts {
    return this.#totals.counts
  }

  get report(): ImportReport {
    return { dryRun: this.#dryRun, ...this.#totals.counts, refusedRows: this.#refusedRows }
  }

  add(summary: ImportSummary, lastLine: number): void {
    this.#refusedRows.push(...this.#totals.add(summary))
    this.#line = lastLine
  }

  /** The refusal for an error that ends the import, with the counts of the rows so far. Stored rows stay. */
  refusalOf(error: AppError): AppError {
    const { number, retryAfter, cause } = error
    const message = [STORE_FAULTS[number] ?? error.message, this.#reached(), this.#rest(number)].join('; ')
    return error instanceof HttpError
      ? new HttpError(number, message, { headers: error.headers, retryAfter, cause })
      : new AppError(number, message, { retryAfter, cause })
  }

  #reached(): string {
    const { added, updated, unchanged, refused } = this.#totals.counts
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

/** Messages that replace those of the store, which say of the whole request that nothing was done. */
const STORE_FAULTS: Readonly<Partial<Record<ErrorNumber, string>>> = {
  50301: 'the store is out of reach',
  50303: 'the service is shutting down',
  50304: 'the store has no space left',
}
