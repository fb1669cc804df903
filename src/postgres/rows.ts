import { inTurns } from '../base/time-slice.ts'
import type { NewPlant } from '../domain/plant.ts'
import { sortKey } from '../domain/plant-query.ts'
import { SteadyClock } from '../records/steady-clock.ts'
import type { Sql, Steps } from '../records/steps.ts'
import type { Run, Statement, StatementResult, TextRow } from './pool/client.ts'
import { indexedWords } from './search-terms.ts'

export async function runSteps<T>(run: Run, steps: Steps<T>): Promise<T> {
  let step = steps.next()
  while (step.done !== true) {
    step = steps.next((await run(statementOf(step.value))).rows)
  }
  return step.value
}

export const postgresClock = (): SteadyClock => new SteadyClock('SELECT max(tick) FROM change_ticks')

export const statementOf = ([text, ...values]: Sql): Statement => ({ text, values })

export interface PlantRow extends NewPlant {
  readonly key: string
  readonly words: ReadonlySet<string>
}

/** Folds the plants that writes leave, in turns: 64 with names of full length take 16 ms. */
export const rowsOf = (written: readonly { readonly after: NewPlant | undefined }[]): Promise<PlantRow[]> =>
  inTurns(
    written.flatMap(({ after }) => after ?? []),
    rowOf,
  )

function rowOf({ id, name, tag }: NewPlant): PlantRow {
  const key = sortKey(name)
  return { id, name, tag, key, words: indexedWords({ name, tag }, key) }
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

/** The parameters of a statement whose values are `columnsOf`. */
export const COLUMNS = '$1::bigint[], $2::text[], $3::text[], $4::text[], $5::tsvector[]'

export function plantOf([id, name, tag]: TextRow): NewPlant {
  return { id: BigInt(id ?? ''), name: name ?? '', tag: tag ?? undefined }
}

/** The plant in an array of a row of the log; undefined where it has none, as before a create. */
export const plantIn = (id: bigint, name: string | null | undefined, tag: string | null | undefined) =>
  name == null ? undefined : { id, name, tag: tag ?? undefined }

export const byId = <Plant extends { readonly id: bigint }>(plants: readonly Plant[]): Map<bigint, Plant> =>
  new Map(plants.map((plant) => [plant.id, plant]))

export const idsIn = ({ rows }: StatementResult): bigint[] => rows.map(([id]) => BigInt(id ?? ''))

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

export const bigintArray = (values: readonly bigint[]): Buffer =>
  arrayOf(
    BIGINT,
    values,
    () => 8,
    (bytes, value, at) => bytes.writeBigInt64BE(value, at),
  )

export const textArray = (values: readonly (string | undefined)[]): Buffer =>
  arrayOf(
    TEXT,
    values,
    (text) => text.length * MAX_UTF8_BYTES,
    (bytes, text, at) => at + bytes.write(text, at, 'utf8'),
  )

const tsvectorArray = (values: readonly ReadonlySet<string>[]): Buffer =>
  arrayOf(TSVECTOR, values, tsvectorRoom, writeTsvector)

export function tsvector(lexemes: ReadonlySet<string>): Buffer {
  const bytes = Buffer.allocUnsafe(tsvectorRoom(lexemes))
  return bytes.subarray(0, writeTsvector(bytes, lexemes, 0))
}

function tsvectorRoom(lexemes: ReadonlySet<string>): number {
  let room = LENGTH
  for (const lexeme of lexemes) room += lexeme.length * MAX_UTF8_BYTES + 3
  return room
}

/** A tsvector is its lexemes, without positions (tsvector.c, tsvectorrecv). The server sorts the lexemes. */
function writeTsvector(bytes: Buffer, lexemes: ReadonlySet<string>, start: number): number {
  let at = bytes.writeInt32BE(lexemes.size, start)
  for (const lexeme of lexemes) {
    at += bytes.write(lexeme, at, 'utf8')
    // A zero byte ends the text, and a count of zero positions follows.
    at = bytes.writeUInt16BE(0, bytes.writeUInt8(0, at))
  }
  return at
}

/**
 * Encodes an array of one dimension with the lower bound 1.
 *
 * @param roomOf returns at least the bytes of a value
 * @param write writes a value at an offset, and returns the offset after it
 */
function arrayOf<T>(
  type: number,
  values: readonly (T | undefined)[],
  roomOf: (value: T) => number,
  write: (bytes: Buffer, value: T, at: number) => number,
): Buffer {
  let room = HEAD
  for (const value of values) room += LENGTH + (value === undefined ? 0 : roomOf(value))
  const bytes = Buffer.allocUnsafe(room)
  let at = 0
  for (const member of [1, 1, type, values.length, 1]) at = bytes.writeInt32BE(member, at)
  for (const value of values) {
    const end = value === undefined ? at + LENGTH : write(bytes, value, at + LENGTH)
    bytes.writeInt32BE(value === undefined ? NULL : end - at - LENGTH, at)
    at = end
  }
  return bytes.subarray(0, at)
}
