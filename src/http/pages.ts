import type { FastifyReply } from 'fastify'
import { type Exit, JSON_TYPE, READ_CACHING } from './exit.ts'
import { writeQueryString } from './query-string.ts'

export interface Page<Row> {
  readonly rows: readonly Row[]
  /** Whether the list goes on behind them. */
  readonly hasMore: boolean
}

/** @param found as the store gave them when it was asked for one more than the limit, so that no page is empty */
export function pageOf<Row>(found: readonly Row[], limit: number): Page<Row> {
  return { rows: found.slice(0, limit), hasMore: found.length > limit }
}

/**
 * Answers with a page.
 *
 * @param rows the JSON text of each
 * @param next the path and the parameters of the next page; undefined when this is the last
 */
export function answerPage(
  exit: Exit,
  reply: FastifyReply,
  rows: readonly string[],
  next: readonly [path: string, parameters: readonly (readonly [string, string])[]] | undefined,
): void {
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
  if (next !== undefined) headers.push('Link', `<${next[0]}?${writeQueryString(next[1])}>; rel="next"`)
  exit.answer(reply, 200, headers, `[${rows.join(',')}]`)
}
