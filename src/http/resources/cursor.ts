import { AppError } from '../../errors.ts'
import { hash64 } from '../../murmur.ts'

/**
 * Writes a position in a list as an opaque text: a checksum of both, then the bytes of the position. The checksum finds
 * mistakes, such as a cursor with other filters. It protects nothing, so it needs no secret, and every instance and
 * every version 1.x reads the cursor alike.
 *
 * @param list the kind of list, its order and its filters
 */
export function writeCursor(list: string, position: Buffer): string {
  return Buffer.concat([checksum(list, position), position]).toString('base64url')
}

/**
 * @param least bytes that every position in such a list has
 * @throws AppError 40003 when the cursor was not made for this list
 */
export function readCursor(list: string, cursor: string, least: number): Buffer {
  const bytes = Buffer.from(cursor, 'base64url')
  const position = bytes.subarray(CHECKSUM_LENGTH)
  // Decoding skips characters that are not base64url. Only the text that the service wrote is a cursor.
  if (position.length >= least && writeCursor(list, position) === cursor) return position
  throw new AppError(
    40003,
    'cursor does not belong to this list, order and filters; follow the Link of the previous page unchanged, or start again without cursor',
  )
}

const CHECKSUM_LENGTH = 8

const checksum = (list: string, position: Buffer): Buffer =>
  Buffer.from(hash64(`${list}\n${position.toString('latin1')}`), 'hex')
