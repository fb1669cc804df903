import { AppError } from '../../errors.ts'
import { hash64 } from '../../murmur.ts'

/**
 * Writes a place in a list as an opaque text: bytes after a checksum over them and their list. The checksum finds
 * mistakes, such as a cursor with other filters. It protects nothing, so it needs no secret, and every instance and
 * every version 1.x reads the cursor alike.
 *
 * @param list what the place is in: the kind of list, its order and its filters
 */
export function writeCursor(list: string, place: Buffer): string {
  return Buffer.concat([checksum(list, place), place]).toString('base64url')
}

/**
 * @param least bytes that every place in such a list has
 * @throws AppError 40003 when the cursor is none that was made for this list
 */
export function readCursor(list: string, cursor: string, least: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const place = bytes.subarray(CHECKSUM_LENGTH)
  // Decoding passes over what is not base64url; only the text that encoding gives was ever given out.
  if (place.length >= least && writeCursor(list, place) === cursor) return place
  throw new AppError(
    40003,
    'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor',
  )
}

const CHECKSUM_LENGTH = 8

const checksum = (list: string, place: Buffer): Buffer =>
  Buffer.from(hash64(`${list}\n${place.toString('latin1')}`), 'hex')
