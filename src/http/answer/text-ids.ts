import type { IncomingMessage } from 'node:http'
import { withTextIds } from '../../json/text-ids.ts'
import { asksForTextIds, WITH_TEXT_IDS } from '../request/head.ts'
import { withTagOf } from './compression.ts'

/** The types of answers with ids of plants as numbers. CSV has texts alone. */
const TYPES: readonly string[] = ['application/json', 'application/x-ndjson', 'text/event-stream']

/**
 * Makes the headers of an answer those of its form with ids as texts, where its client asks for that form.
 *
 * @param type the media type of the answer; undefined: its Content-Type
 * @returns whether the client asks for it
 */
export function takeTextIds({ headers: { accept } }: IncomingMessage, headers: string[], type?: string): boolean {
  if (accept === undefined) return false
  const at = headers.indexOf('Content-Type') + 1
  const plain = type ?? (at > 0 ? (headers[at] ?? '') : '')
  if (!TYPES.includes(plain) || !asksForTextIds(accept, plain)) return false
  if (at > 0) headers[at] = plain + WITH_TEXT_IDS
  withTagOf(headers, 'text')
  return true
}

/** Writes ids as texts in pieces of whole lines. Streams share most pieces, so each is written once for all of them. */
export class TextPieces {
  readonly #written = new WeakMap<Buffer, Buffer>()

  async *write(pieces: AsyncGenerator<string | Buffer, void>): AsyncGenerator<string | Buffer, void> {
    for await (const piece of pieces) yield typeof piece === 'string' ? withTextIds(piece) : this.#of(piece)
  }

  #of(piece: Buffer): Buffer {
    const written = this.#written.get(piece) ?? Buffer.from(withTextIds(piece.toString()))
    this.#written.set(piece, written)
    return written
  }
}
