import { isUtf8 } from 'node:buffer'
import { shown } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { encodingMark, requireText } from './file-kind.ts'

/** Bytes of the start of a file that show its encoding, and most kinds of files that are no text. */
const START_LENGTH = 8

/**
 * Yields a text as UTF-8 without byte order mark. The mark at its start tells UTF-8 from UTF-16; a text without one is
 * UTF-8. Does not check UTF-8.
 *
 * @param mustBeUtf16 whether to refuse a text without a mark of UTF-16
 * @throws AppError 40001 when the file is no text, or is not valid UTF-16 after the mark of UTF-16; any error of the
 *   source
 */
export async function* asUtf8(source: AsyncIterable<Buffer>, mustBeUtf16 = false): AsyncGenerator<Buffer, void> {
  let start: Buffer | undefined = Buffer.alloc(0)
  let decode = (chunk: Buffer): Buffer => chunk
  let end = (): void => {}
  const begin = (bytes: Buffer): Buffer => {
    requireText(bytes)
    const mark = encodingMark(bytes)
    if (mark === 'utf-16le' || mark === 'utf-16be') {
      const decoder = new Utf16Decoder(mark === 'utf-16be')
      decode = (chunk) => decoder.decode(chunk)
      end = () => decoder.end()
      return decode(bytes.subarray(2))
    }
    if (mustBeUtf16) throw new AppError(40001, 'the charset is utf-16, but the file has no byte order mark of UTF-16')
    return mark === 'utf-8' ? bytes.subarray(3) : bytes
  }
  for await (const chunk of source) {
    if (start === undefined) {
      yield decode(chunk)
    } else {
      start = Buffer.concat([start, chunk])
      if (start.length < START_LENGTH) continue
      yield begin(start)
      start = undefined
    }
  }
  if (start !== undefined) yield begin(start)
  end()
}

/** Decodes UTF-16 in pieces, and refuses invalid UTF-16 instead of repairing it. */
class Utf16Decoder {
  readonly #isBigEndian: boolean
  /** The start of a code unit or of a surrogate pair. */
  #rest: Buffer = Buffer.alloc(0)

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian
  }

  /** @throws AppError 40001 */
  decode(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk])
    const whole = bytes.subarray(0, bytes.length - (bytes.length % 2))
    const units = (this.#isBigEndian ? Buffer.from(whole).swap16() : whole).toString('utf16le')
    const text = isHighSurrogate(units.charCodeAt(units.length - 1)) ? units.slice(0, -1) : units
    this.#rest = bytes.subarray(2 * text.length)
    if (!text.isWellFormed()) throw notUtf16()
    return Buffer.from(text)
  }

  /** @throws AppError 40001 */
  end(): void {
    if (this.#rest.length > 0) throw notUtf16()
  }
}

const isHighSurrogate = (unit: number): boolean => (unit & 0xfc00) === 0xd800

const notUtf16 = (): AppError =>
  new AppError(40001, 'the file has a UTF-16 byte order mark but is not valid UTF-16; save it as CSV UTF-8')

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
