import type { FastifyReply } from 'fastify'
import { PAGE_TEXT } from '../plant-query.ts'
import { type Exit, JSON_TYPE, READ_CACHING } from './exit.ts'
import { writeQueryString } from './query-string.ts'

export interface Page<Row> {
  /** The JSON text of each row. */
  readonly texts: readonly string[]
  /** The last row, where the list goes on behind it. */
  readonly last: Row | undefined
}

/**
 * @param found as the store gave them when it was asked for one more than the limit. JSON is longer than the text in it, so
 *   that a page ends, and has a next one, wherever the store has ended early
 */
export function pageOf<Row>(found: readonly Row[], limit: number, toJson: (row: Row) => string): Page<Row> {
  const texts: string[] = []
  let length = 0
  for (const row of found) {
    if (texts.length === limit || length > PAGE_TEXT) break
    const text = toJson(row)
    texts.push(text)
    length += text.length
  }
  return { texts, last: texts.length < found.length ? found[texts.length - 1] : undefined }
}

/** @param next the parameters of the page behind it; undefined when this is the last */
export function answerPage(
  exit: Exit,
  reply: FastifyReply,
  path: string,
  texts: readonly string[],
  next: readonly (readonly [name: string, text: string])[] | undefined,
): void {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
  if (next !== undefined) headers.push('Link', `<${path}?${writeQueryString(next)}>; rel="next"`)
  exit.answer(reply, 200, headers, `[${texts.join(',')}]`)
}
