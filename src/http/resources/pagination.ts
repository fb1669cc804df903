import { PAGE_TEXT } from '../../plant-query.ts'
import type { Exchange } from '../exchange.ts'
import { writeQueryString } from '../request/query-string.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../response/responder.ts'

/** A page as the service answers it. */
export interface WrittenPage {
  /** The JSON text of its rows, in an array. */
  readonly json: string
  /** The query string of the next page; undefined on the last page. */
  readonly next: string | undefined
}

/** The parameters of a request, in their order. */
export type QueryParameters = readonly (readonly [name: string, text: string])[]

/**
 * @param found the store's rows for one more than the limit. JSON is longer than its texts, so a page also ends, and
 *   has a next page, where the store stopped early
 * @param parametersBehind returns the parameters of the page after these rows
 */
export function writePage<Row>(
  found: readonly Row[],
  limit: number,
  toJson: (row: Row) => string,
  parametersBehind: (last: Row, rows: readonly Row[]) => QueryParameters,
): WrittenPage {
  const texts: string[] = []
  let length = 0
  for (const row of found) {
    if (texts.length === limit || length > PAGE_TEXT) break
    const text = toJson(row)
    texts.push(text)
    length += text.length
  }
  const rows = found.slice(0, texts.length)
  const last = rows.length < found.length ? rows.at(-1) : undefined
  const next = last === undefined ? undefined : writeQueryString(parametersBehind(last, rows))
  return { json: `[${texts.join(',')}]`, next }
}

export function answerPage(responder: Responder, exchange: Exchange, path: string, { json, next }: WrittenPage): void {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
  if (next !== undefined) headers.push('Link', `<${path}?${next}>; rel="next"`)
  responder.reply(exchange, 200, headers, json)
}
