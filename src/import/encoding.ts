import { isUtf8 } from 'node:buffer'
import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { encodingMark, requireText } from './file-kind.ts'

/** Bytes of the start of a file that show its encoding and its kind. With more, the first rows would wait for others. */
const START_LENGTH = 12

/**
 * Yields a text as UTF-8 without byte order mark. The mark at its start tells UTF-8 from UTF-16. Does not check UTF-8.
 *
 * @param encoding of a text without such a mark: `utf-8`, or a label of TextDecoder. `utf-16` demands a mark
 * @throws AppError 40001 when the file is no text, or is not valid in its encoding; any error of the source
 */
export async function* asUtf8(source: AsyncIterable<Buffer>, encoding = 'utf-8'): AsyncGenerator<Buffer, void> {
  let isFirst = true
  let decoder: TextDecoder | undefined
  for await (const chunk of withLongStart(source)) {
    let utf8 = chunk
    if (isFirst) {
      isFirst = false
      requireText(chunk)
      const mark = encodingMark(chunk)
      if (mark === 'utf-16le' || mark === 'utf-16be') decoder = new TextDecoder(mark, { fatal: true })
      else if (encoding === 'utf-16')
        throw new AppError(40001, 'the charset is utf-16, but the file has no byte order mark of UTF-16')
      else if (mark === 'utf-8') utf8 = chunk.subarray(3)
      else if (encoding !== 'utf-8') decoder = new TextDecoder(encoding, { fatal: true })
    }
    yield decoder === undefined ? utf8 : decoded(decoder, chunk)
  }
  if (decoder !== undefined) decoded(decoder)
}

/** Joins the first chunks, so that one shows the kind of the file. */
async function* withLongStart(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let start: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of source) {
    if (start !== undefined) start = Buffer.concat([start, chunk])
    if (start !== undefined && start.length < START_LENGTH) continue
    yield start ?? chunk
    start = undefined
  }
  if (start !== undefined) yield start
}

/** @param chunk undefined at the end of the text */
function decoded(decoder: TextDecoder, chunk?: Buffer): Buffer {
  try {
    return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }))
  } catch {
    const why = decoder.encoding.startsWith('utf-16')
      ? 'has a UTF-16 byte order mark but is not valid UTF-16'
      : `looks like ${decoder.encoding} but is not valid in it`
    throw new AppError(40001, `the file ${why}; save it as CSV UTF-8`)
  }
}

const BEYOND_ASCII = /[\x80-\xff]/

/**
 * The text of a cell of CSV. Rows are divided before their bytes are decoded, so that a row is refused alone.
 *
 * @param cell bytes as Latin-1
 * @throws AppError 40001 when the bytes are not UTF-8
 */
export function textOf(cell: string): string {
  if (!BEYOND_ASCII.test(cell)) return cell
  const bytes = Buffer.from(cell, 'latin1')
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const guess = new TextDecoder('windows-1252').decode(bytes)
  throw new AppError(
    40001,
    `the row is not valid UTF-8; as Windows-1252 it has ${shown(guess)}. Save the file as CSV UTF-8`,
  )
}
