import { AppError } from '../domain/errors.ts'

/** Bytes of the start of a file that show its kind. */
export const KIND_LENGTH = 256

const HTML = 'a page in HTML (as in some files named .xls); save the sheet as CSV'

/** Kinds of files that people mistake for text, by their first bytes as Latin-1 in lower case. */
const KINDS: readonly (readonly [start: string, what: string])[] = [
  ['pk\x03\x04', 'a workbook (such as .xlsx or .ods) or another ZIP archive; save the sheet as CSV'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'an old workbook (.xls); save the sheet as CSV'],
  ['%pdf-', 'a PDF; save the sheet that it was made of as CSV'],
  ['<?xml', 'XML (as in .fods, and in some files named .xls); save the sheet as CSV'],
  ...['<!doctype', '<html', '<head', '<meta', '<table'].map((tag) => [tag, HTML] as const),
  ['{\\rtf', 'a text document (.rtf); save the sheet as CSV'],
  ['\x89png', 'a picture'],
  ['\xff\xd8\xff', 'a picture'],
  ['\x1f\x8b', 'compressed with gzip; decompress it first'],
]

/**
 * Refuses a file that is no text, and UTF-16 without a byte order mark.
 *
 * @param start its first bytes, KIND_LENGTH of them if there are so many
 * @throws AppError 40001 that names its kind
 */
export function requireText(start: Uint8Array): void {
  const bytes = start.subarray(0, KIND_LENGTH)
  const latin1 = String.fromCharCode(...bytes).replace(/^(\xef\xbb\xbf)?[\t\r\n ]*/, '')
  const text = latin1.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
  const kind = KINDS.find(([first]) => text.startsWith(first))?.[1]
  if (kind !== undefined) throw new AppError(40001, `the file is not text but ${kind}`)
  if (encodingMark(start) === undefined && isUtf16(bytes)) {
    throw new AppError(40001, 'the file is UTF-16 without a byte order mark; save it as CSV UTF-8')
  }
}

/** The encoding that a byte order mark names; undefined without one. */
export function encodingMark([first, second, third]: Uint8Array): 'utf-8' | 'utf-16le' | 'utf-16be' | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

/**
 * Whether every second byte is the high byte of a character below U+2100, and one of them is zero; or most zeros are at
 * one parity in what is no UTF-8. No such file is a valid one in UTF-8, as no plant has the character U+0000.
 */
function isUtf16(bytes: Uint8Array): boolean {
  if (bytes.length < 4 || !bytes.includes(0)) return false
  if ([0, 1].some((parity) => bytes.every((byte, i) => i % 2 !== parity || byte <= 0x20))) return true
  const zeros = [0, 1].map((parity) => bytes.filter((byte, i) => byte === 0 && i % 2 === parity).length)
  const isUtf8 = !new TextDecoder().decode(bytes, { stream: true }).includes('\ufffd')
  return !isUtf8 && Math.max(...zeros) > 2 * Math.min(...zeros)
}
