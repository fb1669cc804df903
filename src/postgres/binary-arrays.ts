// Encodes array parameters in PostgreSQL's binary format (src/backend/utils/adt/arrayfuncs.c, array_recv). pg sends a
// Buffer unchanged. It would send an array as text, which costs both sides more.

/** OIDs of types (pg_type.oid), which never change. */
const BIGINT = 20
const TEXT = 25
const TSVECTOR = 3614

const HEAD = 20
const LENGTH = 4
const NULL = -1
/** Maximum number of UTF-8 bytes for one UTF-16 unit. */
const MAX_UTF8_BYTES = 3

export function bigintArray(values: readonly bigint[]): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD + values.length * (LENGTH + 8))
  let at = writeHead(bytes, BIGINT, values.length)
  for (const value of values) {
    at = bytes.writeInt32BE(8, at)
    at = bytes.writeBigInt64BE(value, at)
  }
  return bytes
}

export function textArray(values: readonly (string | undefined)[]): Buffer {
  let room = HEAD
  for (const value of values) room += LENGTH + (value?.length ?? 0) * MAX_UTF8_BYTES
  const bytes = Buffer.allocUnsafe(room)
  let at = writeHead(bytes, TEXT, values.length)
  for (const value of values) {
    if (value === undefined) {
      at = bytes.writeInt32BE(NULL, at)
    } else {
      const length = bytes.write(value, at + LENGTH, 'utf8')
      at = bytes.writeInt32BE(length, at) + length
    }
  }
  return bytes.subarray(0, at)
}

/** Encodes each tsvector as its lexemes, without positions (tsvector.c, tsvectorrecv). The server sorts the lexemes. */
export function tsvectorArray(values: readonly ReadonlySet<string>[]): Buffer {
  let room = HEAD
  for (const lexemes of values) {
    room += 2 * LENGTH
    for (const lexeme of lexemes) room += lexeme.length * MAX_UTF8_BYTES + 3
  }
  const bytes = Buffer.allocUnsafe(room)
  let at = writeHead(bytes, TSVECTOR, values.length)
  for (const lexemes of values) {
    const start = at
    at = writeTsvector(bytes, lexemes, start + LENGTH)
    bytes.writeInt32BE(at - start - LENGTH, start)
  }
  return bytes.subarray(0, at)
}

/** Encodes one tsvector, outside of an array. */
export function tsvector(lexemes: ReadonlySet<string>): Buffer {
  let room = LENGTH
  for (const lexeme of lexemes) room += lexeme.length * MAX_UTF8_BYTES + 3
  const bytes = Buffer.allocUnsafe(room)
  return bytes.subarray(0, writeTsvector(bytes, lexemes, 0))
}

function writeTsvector(bytes: Buffer, lexemes: ReadonlySet<string>, start: number): number {
  let at = bytes.writeInt32BE(lexemes.size, start)
  for (const lexeme of lexemes) {
    at += bytes.write(lexeme, at, 'utf8')
    // A zero byte ends the text, and a count of zero positions follows.
    at = bytes.writeUInt16BE(0, bytes.writeUInt8(0, at))
  }
  return at
}

/** Writes the head of an array of one dimension with the lower bound 1. @returns the offset after it */
function writeHead(bytes: Buffer, type: number, count: number): number {
  let at = bytes.writeInt32BE(1, 0)
  at = bytes.writeInt32BE(1, at)
  at = bytes.writeInt32BE(type, at)
  at = bytes.writeInt32BE(count, at)
  return bytes.writeInt32BE(1, at)
}
