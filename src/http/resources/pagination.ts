import { AppError } from '../../domain/errors.ts'
import { hash64 } from '../../domain/murmur.ts'
import { PAGE_TEXT } from '../../domain/plant-query.ts'
import type { Exchange } from '../exchange.ts'
import { writeQueryString } from '../request/query-string.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../response/responder.ts'

/** A page of a list, as text. */
export interface WrittenPage {
  /** The JSON text of its rows, in an array. */
  readonly json: string
  /** The Link to the next page (RFC 8288); undefined on the last page. */
  readonly link: string | undefined
}

/** The parameters of a request, in their order. */
export type QueryParameters = readonly (readonly [name: string, text: string])[]

/**
 * Writes a page of the rows that a store found for one more than the limit. A page may have fewer rows than the limit,
 * because it also ends once its JSON is longer than PAGE_TEXT.
 *
 * @param path the path of the list
 * @param parametersAfter returns the parameters of the page after these rows
 */
export function writePage<Row>(
  path: string,
  found: readonly Row[],
  limit: number,
  toJson: (row: Row) => string,
  parametersAfter: (last: Row, rows: readonly Row[]) => QueryParameters,
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
  const link = last === undefined ? undefined : `<${path}?${writeQueryString(parametersAfter(last, rows))}>; rel="next"`
  return { json: `[${texts.join(',')}]`, link }
}

export function answerPage(responder: Responder, exchange: Exchange, { json, link }: WrittenPage): void {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
  if (link !== undefined) headers.push('Link', link)
  responder.reply(exchange, 200, headers, json)
}

/**
 * Writes a position in a list as an opaque text: a checksum of both, then the bytes of the position. The checksum
 * detects mistakes, such as a cursor with other filters. It protects nothing, so it needs no secret, and every instance
 * and every version 1.x reads the cursor alike.
 *
 * @param list the kind of list, its order and its filters
 */
export function writeCursor(list: string, position: Buffer): string {
  return Buffer.concat([checksum(list, position), position]).toString('base64url')
}

/**
 * Returns the bytes of the position in a cursor.
 *
 * @param minLength the least number of bytes of a position in such a list
 * @throws AppError 40003 when the cursor belongs to another list
 */
export function readCursor(list: string, cursor: string, minLength: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const position = bytes.subarray(CHECKSUM_LENGTH)
  // The decoder skips characters that are not base64url. A cursor is only valid as the service wrote it.
  if (position.length >= minLength && writeCursor(list, position) === cursor) return position
  throw new AppError(
    40003,
    'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor',
  )
}

const CHECKSUM_LENGTH = 8

const checksum = (list: string, position: Buffer): Buffer =>
  Buffer.from(hash64(`${list}\n${position.toString('latin1')}`), 'hex')
