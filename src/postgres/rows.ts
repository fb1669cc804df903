import type { AppError } from '../domain/errors.ts'
import { type NewPlant, validatePlant } from '../domain/plant.ts'
import { sortKey } from '../domain/plant-query.ts'
import { refusedRecord } from './errors.ts'
import type { Outcome, Row } from './pool/client.ts'
import { type IndexedWords, indexedWords } from './search-terms.ts'

export interface PlantRow extends NewPlant, IndexedWords {
  readonly key: string
}

export function rowOf({ id, name, tag }: NewPlant): PlantRow {
  const key = sortKey(name)
  return { id, name, tag, key, ...indexedWords({ name, tag }, key) }
}

/** Encodes plants as one binary array for each column, which costs both sides a fraction of arrays as text. */
export const columnsOf = (rows: readonly PlantRow[]): Buffer[] => [
  bigintArray(rows.map(({ id }) => id)),
  ...textsOf(rows),
  textArray(rows.map(({ key }) => key)),
  tsvectorArray(rows.map(({ words }) => words)),
]

/** Encodes the names and the tags of plants; NULL where there is no plant. */
export const textsOf = (plants: readonly (NewPlant | undefined)[]): Buffer[] => [
  textArray(plants.map((plant) => plant?.name)),
  textArray(plants.map((plant) => plant?.tag)),
]

export const valuesOf = ({ id, name, tag, key, words }: PlantRow): unknown[] => [
  String(id),
  name,
  tag,
  key,
  tsvector(words),
]

/** The parameters of a statement whose values are `columnsOf`. */
export const COLUMNS = '$1::bigint[], $2::text[], $3::text[], $4::text[], $5::tsvector[]'

/** Makes a plant of a row of `SELECT id, name, tag`. */
export function plantOf([id, name, tag]: Row): NewPlant {
  return { id: BigInt(id ?? ''), name: name ?? '', tag: tag ?? undefined }
}

export const byId = <Plant extends { readonly id: bigint }>(plants: readonly Plant[]): Map<bigint, Plant> =>
  new Map(plants.map((plant) => [plant.id, plant]))

export const idsIn = ({ rows }: Outcome): bigint[] => rows.map(([id]) => BigInt(id ?? ''))

/**
 * Returns the refusal of a plant that PostgreSQL can not store; undefined for a valid plant. HTTP and imports refuse
 * such plants before. This check keeps one that they have missed from failing the other plants of its statement.
 */
export function refusalOf(plant: NewPlant): AppError | undefined {
  try {
    validatePlant(plant)
    return undefined
  } catch (error) {
    return refusedRecord(error)
  }
}

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
function tsvectorArray(values: readonly ReadonlySet<string>[]): Buffer {
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
