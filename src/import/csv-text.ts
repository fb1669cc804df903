import { isUtf8 } from 'node:buffer'
import { AppError } from '../errors.ts'
import { shown } from '../printable.ts'

const BEYOND_ASCII = /[\x80-\xff]/

/**
 * The text of a cell.
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
