import type { Config } from '../../config.ts'
import { AppError } from '../../errors.ts'
import { FORMATS, type Format, MEDIA_TYPES, readPlants } from '../../import/format.ts'
import { runImport } from '../../import/run-import.ts'
import type { Store } from '../../store.ts'
import type { Admission } from '../admission/admission.ts'
import { bodyPieces } from '../request/body-pieces.ts'
import { readMediaType } from '../request/media-type.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { ImportReporter } from './import-report.ts'

/** @param stopping ends imports that are under way, with the AppError that is its reason */
export function importHandlers(
  store: Store,
  responder: Responder,
  admission: Admission,
  { bodyLimit, nestingLimit, stallTimeout, leastSpeed }: Config,
  stopping: AbortSignal,
): Pick<Handlers, 'importPlants'> {
  return {
    importPlants(exchange, options) {
      const format = formatOfType(exchange.request.headers['content-type'] ?? '')
      admission
        .during(options.dryRun ? 'dryRun' : 'import', exchange, async (ending) => {
          const signal = AbortSignal.any([ending, stopping])
          const pieces = bodyPieces(exchange, { stallTimeout, leastSpeed, signal })
          const batches = readPlants(format, pieces, { textLimit: bodyLimit, nestingLimit })
          const reporter = new ImportReporter(options.dryRun)
          try {
            const { actor } = exchange
            await runImport(store, batches, { ...options, actor }, (...part) => reporter.add(...part), signal)
          } catch (error) {
            throw error instanceof AppError ? reporter.endedBy(error) : error
          }
          return reporter.report
        })
        .then((report) => responder.reply(exchange, 200, ['Content-Type', JSON_TYPE], JSON.stringify(report)))
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
  }
}

/** No other types come as far as here. */
function formatOfType(contentType: string): Format {
  const type = readMediaType(contentType)?.type
  return FORMATS.find((format) => MEDIA_TYPES[format] === type) ?? 'ndjson'
}
