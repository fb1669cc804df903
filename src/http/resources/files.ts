import { AppError, type ErrorNumber } from '../../domain/errors.ts'
import { storeOf } from '../../domain/part-store.ts'
import { type ImportMode, newPlantJson } from '../../domain/plant.ts'
import { filterOf } from '../../domain/plant-query.ts'
import { type AssignedRows, noted, withIds } from '../../import/assign-ids.ts'
import type { NamedColumns } from '../../import/csv-rows.ts'
import type { Duplicates } from '../../import/duplicates.ts'
import { FORMATS, type Format, MEDIA_TYPES, NO_PLANTS, readPlants, writeFile } from '../../import/format.ts'
import { type ImportSummary, ImportTotals, runImport, type TakeSummary } from '../../import/run-import.ts'
import { readColumns } from '../../import/sheet/columns.ts'
import { JSON_TYPE, READ_CACHING } from '../answer/responder.ts'
import type { SlowClients } from '../answer/slow-clients.ts'
import { requireScopes } from '../auth/bearer.ts'
import { HttpError } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'
import { keyIn, preferredType, readMediaType } from '../request/head.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { actionHeader, actorOfWork, mustMakeAction } from './actions.ts'

export function importHandlers(parts: HandlerParts): Pick<Handlers, 'importPlants'> {
  const { responder, admission, slowClients, stopping } = parts
  return {
    importPlants(exchange, options) {
      const { mode, dryRun, duplicates } = options
      const store = storeOf(parts.store, exchange.actor)
      const type = readMediaType(exchange.request.headers['content-type'] ?? '')
      // The contract admits no types without a format.
      const format = FORMATS.find((each) => MEDIA_TYPES[each] === type?.type) ?? 'ndjson'
      const charset = type?.parameters.get('charset')?.toLowerCase()
      const columns = options.columns && readColumns(options.columns)
      const ids = options.ids ?? (columns !== undefined && columns.id === undefined ? 'assign' : undefined)
      const assignsIds = ids !== undefined
      if (duplicates || assignsIds) requireScopes(exchange.sender, ['plants:read'])
      if (duplicates && !dryRun) throw new AppError(40003, 'duplicates must be left out or false without dryRun=true')
      if (columns !== undefined && format !== 'csv') throw new AppError(40003, 'columns works only with text/csv')
      if (assignsIds) checkAssignment(mode, format, columns)
      const actor = dryRun ? exchange.actor : actorOfWork(exchange, store, options, 'import')
      return admission
        .during(dryRun ? 'dryRun' : 'import', exchange, async (ending) => {
          const signal = AbortSignal.any([ending, stopping])
          const pieces = bodyPieces(exchange, slowClients, signal)
          const { textIds } = exchange
          await mustMakeAction(parts.store, actor)
          const read = readPlants(format, pieces, { charset, mode, textIds, columns, assignsIds })
          const assigned: AssignedRows[] = []
          const assignment = ids && { ids, actor, dryRun, duplicates, key: keyIn(options) }
          const batches = assignment ? noted(withIds(store, read, assignment, signal), assigned) : read
          const reporter = new ImportReporter(mode, dryRun)
          const details = () => ({ mode, dryRun, ...reporter.counts })
          exchange.change = { outcome: 'imported', details, isGradual: true }
          responder.audit.begins(exchange)
          try {
            const take: TakeSummary = (...part) => reporter.add(...part)
            const found = await runImport(store, batches, { ...options, ids, actor }, take, signal)
            return { ...reporter.report, ...found, ...(assignsIds && !dryRun ? { assignedRows: assigned } : {}) }
          } catch (error) {
            throw error instanceof AppError ? reporter.refusalOf(error) : error
          }
        })
        .finally(() => {
          // It may take longer than a client waits for its answer.
          if (!dryRun) void store.afterImport()
        })
        .then((report) =>
          responder.reply(exchange, 200, ['Content-Type', JSON_TYPE, ...actionHeader(actor)], reportJson(report)),
        )
    },
  }
}

/** @throws AppError 40003 for what ids=assign does not go with */
function checkAssignment(mode: ImportMode, format: Format, columns: NamedColumns | undefined): void {
  if (mode !== 'add')
    throw new AppError(40003, `mode=${mode} needs rows with ids; columns must name the column of the ids`)
  if (columns?.id !== undefined) throw new AppError(40003, 'ids must be left out where columns names a column for id')
  if (format === 'csv' && columns === undefined) {
    throw new AppError(40003, 'ids=assign needs columns for CSV, such as columns=name=name and columns=tag=tag')
  }
}

interface ImportReport extends ImportSummary, Partial<Duplicates> {
  readonly dryRun: boolean
  readonly assignedRows?: readonly AssignedRows[]
}

/** JSON.stringify writes no bigint, and takes 4 times as long with a replacer that does. */
function reportJson({ duplicateRows, similarRows, assignedRows, ...report }: ImportReport): string {
  const lists = [
    listJson('duplicateRows', duplicateRows, ({ line, id }) => `{"line":${line},"id":${id}}`),
    listJson('similarRows', similarRows, ({ line, plant }) => `{"line":${line},"plant":${newPlantJson(plant)}}`),
    listJson('assignedRows', assignedRows, ({ line, id, rows }) => `{"line":${line},"id":${id},"rows":${rows}}`),
  ]
  return `${JSON.stringify(report).slice(0, -1)}${lists.join('')}}`
}

const listJson = <Row>(name: string, rows: readonly Row[] | undefined, rowJson: (row: Row) => string): string =>
  rows === undefined ? '' : `,"${name}":[${rows.map(rowJson).join(',')}]`

/** Collects the results of the rows of a file: for the answer, or for the refusal of an import that stops early. */
class ImportReporter extends ImportTotals {
  readonly #dryRun: boolean
  /** The line in which the last imported row begins. */
  #line = 0

  constructor(mode: ImportMode, dryRun: boolean) {
    super(mode)
    this.#dryRun = dryRun
  }

  get report(): ImportReport {
    return { dryRun: this.#dryRun, ...this.counts, refusedRows: this.refusedRows }
  }

  add(summary: ImportSummary, lastLine: number): void {
    this.count(summary)
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
    if (this.#line === 0) return 'no row was processed'
    const counts = Object.entries(this.counts).map(([what, rows]) => `${rows} ${what}`)
    return `all rows up to line ${this.#line} were processed (${counts.join(', ')})`
  }

  #rest(number: ErrorNumber): string {
    if (this.#dryRun) return 'nothing was stored'
    if (number === 40902) return 'no further row was stored; another file needs a key of its own'
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

/** CSV with the parameters of RFC 4180. NDJSON has no charset, because JSON is always UTF-8. */
const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  ndjson: MEDIA_TYPES.ndjson,
  csv: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
}

export function exportHandlers(parts: HandlerParts): Pick<Handlers, 'exportPlants'> {
  const { responder, admission } = parts
  return {
    exportPlants(exchange, parameters) {
      const { format = formatFor(exchange), sort } = parameters
      const headers = ['Content-Type', CONTENT_TYPES[format], 'Cache-Control', READ_CACHING]
      headers.push('Content-Disposition', `attachment; filename="plants.${format}"`)
      const filter = filterOf(parameters)
      const store = storeOf(parts.store, exchange.actor)
      return admission.during('export', exchange, async (signal) => {
        const onPosition = (position: string) => headers.push('Plantstore-Position', position)
        if (filter === undefined) await store.changes?.end().then(onPosition)
        const plants = filter === undefined ? NO_PLANTS : store.exportPlants(filter, sort, signal, onPosition)
        return responder.stream(exchange, headers, writeFile(format, plants), signal)
      })
    },
  }
}

/**
 * The format that Accept prefers. Many generated clients ask each operation for JSON, as which NDJSON counts here.
 *
 * @throws AppError 40601
 */
function formatFor({ request }: Exchange): Format {
  const types = FORMATS.map((format) => MEDIA_TYPES[format])
  const preferred = preferredType(request.headers.accept, [...types, JSON_TYPE])
  if (preferred === undefined) {
    throw new AppError(40601, `Accept excludes every format of an export; send one of ${types.join(', ')}, or format`)
  }
  return FORMATS.find((format) => MEDIA_TYPES[format] === preferred) ?? 'ndjson'
}

const EVENTS = ['readable', 'end', 'close', 'error'] as const

/**
 * Yields the body of a request in pieces, and reads no faster than the caller takes them. A piece holds all bytes that
 * arrived since the last one. The client must keep the least speed only while the caller waits for it.
 *
 * @param signal ends the reading with its reason. It must abort when the signal of the exchange does
 * @throws AppError 40801 when the client is too slow, and the refusal when the rest of the body cannot arrive; the
 *   reason of the signal
 */
async function* bodyPieces(
  exchange: Exchange,
  slowClients: SlowClients,
  signal: AbortSignal,
): AsyncGenerator<Buffer, void> {
  const { request } = exchange
  let wake: (() => void) | undefined
  let fault: AppError | undefined
  let moved = 0
  const onChange = () => wake?.()
  const fail = (refusal: AppError) => {
    fault = refusal
    onChange()
  }
  const isWaiting = () => wake !== undefined
  const unwatch = slowClients.watch({ moved: () => moved, isWaiting, end: fail, size: 0, verb: 'sent' })
  for (const event of EVENTS) request.on(event, onChange)
  signal.addEventListener('abort', onChange)
  exchange.askForBody(fail)
  try {
    for (;;) {
      signal.throwIfAborted()
      const piece = request.read() as Buffer | null
      if (piece !== null) {
        moved += piece.length
        yield piece
      } else if (request.readableEnded) return
      else if (fault !== undefined) throw fault
      else {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        wake = undefined
      }
    }
  } finally {
    unwatch()
    for (const event of EVENTS) request.off(event, onChange)
    signal.removeEventListener('abort', onChange)
  }
}
