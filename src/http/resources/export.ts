import { AppError } from '../../domain/errors.ts'
import { filterOf } from '../../domain/plant-query.ts'
import type { Store } from '../../domain/store.ts'
import { FORMATS, type Format, MEDIA_TYPES, NO_PLANTS, writeFile } from '../../import/format.ts'
import type { Admission } from '../admission/admission.ts'
import type { RateOptions } from '../connection/minimum-rate.ts'
import type { Exchange } from '../exchange.ts'
import { preferredType } from '../request/negotiation.ts'
import { READ_CACHING, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'

/** CSV with the parameters of RFC 4180. NDJSON has no charset, because JSON is always UTF-8. */
const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  ndjson: MEDIA_TYPES.ndjson,
  csv: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
}

/** The handler of exports. */
export function exportHandlers(
  store: Store,
  responder: Responder,
  admission: Admission,
  { stallTimeout, leastSpeed }: RateOptions,
): Pick<Handlers, 'exportPlants'> {
  return {
    exportPlants(exchange, parameters) {
      const { format = formatFor(exchange), sort } = parameters
      if (preferredType(exchange.request.headers.accept, [MEDIA_TYPES[format]]) === undefined) {
        throw new AppError(40601, `Accept excludes ${MEDIA_TYPES[format]}, the media type of the format ${format}`)
      }
      const headers = ['Content-Type', CONTENT_TYPES[format], 'Cache-Control', READ_CACHING]
      headers.push('Content-Disposition', `attachment; filename="plants.${format}"`)
      const filter = filterOf(parameters.tag, parameters.q)
      admission
        .during('export', exchange, (signal) => {
          const file = writeFile(format, filter === undefined ? NO_PLANTS : store.exportPlants(filter, sort, signal))
          return responder.stream(exchange, headers, file, { stallTimeout, leastSpeed, signal })
        })
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
  }
}

function formatFor({ request }: Exchange): Format {
  const types = FORMATS.map((format) => MEDIA_TYPES[format])
  const preferred = preferredType(request.headers.accept, types)
  return FORMATS.find((format) => MEDIA_TYPES[format] === preferred) ?? 'ndjson'
}
