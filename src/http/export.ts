import { type Format, MEDIA_TYPES, writeFile } from '../formats/format.ts'
import type { PlantOrder } from '../plant-query.ts'
import type { Store } from '../store.ts'
import { filterOf } from './plant-filter.ts'
import { READ_CACHING, type Responder } from './responder.ts'
import type { Handlers } from './routes.ts'

/** As RFC 4180 and RFC 7111 have it; JSON is always UTF-8. */
const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  ndjson: MEDIA_TYPES.ndjson,
  csv: `${MEDIA_TYPES.csv}; charset=utf-8; header=present`,
}

/** @param stallTimeout ms in which the client has to read something */
export function exportHandlers(
  store: Store,
  responder: Responder,
  stallTimeout: number,
): Pick<Handlers, 'exportPlants'> {
  return {
    exportPlants(exchange, _operation, parameters) {
      const { format, sort } = parameters as { format: Format; sort: PlantOrder }
      const file = writeFile(format, store.exportPlants(filterOf(parameters), sort))
      const headers = ['Content-Type', CONTENT_TYPES[format], 'Cache-Control', READ_CACHING]
      headers.push('Content-Disposition', `attachment; filename="plants.${format}"`)
      void responder.stream(exchange, headers, file, stallTimeout)
    },
  }
}
