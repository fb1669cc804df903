import { AppError } from '../errors.ts'

/** Bytes of the start of a file that show its encoding. */
const START_LENGTH = 8

/** Kinds of files that people mistake for text, by their first bytes. */
const BINARY_FILES: readonly (readonly [start: Buffer, what: string])[] = [
  [
    Buffer.from('PK\x03\x04', 'latin1'),
    'a workbook (such as .xlsx or .ods) or another ZIP archive; save the sheet as CSV',
  ],
  [Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'an old workbook (.xls); save the sheet as CSV'],
  [Buffer.from('1f8b', 'hex'), 'compressed with gzip; decompress it first'],
]

const UTF8_MARK = Buffer.from('efbbbf', 'hex')
const UTF16_LE_MARK = Buffer.from('fffe', 'hex')
const UTF16_BE_MARK = Buffer.from('feff', 'hex')

/**
 * Yields a text as UTF-8 without byte order mark. The mark at its start tells UTF-8 from UTF-16; a text without one is
 * UTF-8. Does not check UTF-8.
 *
 * @throws AppError 40001 when the file is no text, or is not valid UTF-16 after the mark of UTF-16; any error of the
 *   source
 */
export async function* asUtf8(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let start: Buffer | undefined = Buffer.alloc(0)
  let decode = (chunk: Buffer): Buffer => chunk
  const begin = (bytes: Buffer): Buffer => {
    const binary = BINARY_FILES.find(([first]) => bytes.indexOf(first) === 0)
    if (binary !== undefined) throw new AppError(40001, `the file is not text but ${binary[1]}`)
    if (bytes.indexOf(UTF8_MARK) === 0) return bytes.subarray(UTF8_MARK.length)
    const isBigEndian = bytes.indexOf(UTF16_BE_MARK) === 0
    if (!isBigEndian && bytes.indexOf(UTF16_LE_MARK) !== 0) return bytes
    const decoder = new Utf16Decoder(isBigEndian)
    decode = (chunk) => decoder.decode(chunk)
    end = () => decoder.end()
    return decode(bytes.subarray(UTF16_LE_MARK.length))
  }
  let end = (): void => {}
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
