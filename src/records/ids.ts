import { type IdRange, type IdReservation, MAX_PROPOSED } from '../domain/id-store.ts'
import type { SteadyClock } from './steady-clock.ts'
import { padded, type SqlRow, type Steps } from './steps.ts'

/**
 * Milliseconds for which a key gets its range again. Without an end, every reservation would need a row of its own for
 * ever.
 */
const KEY_TIME = 24 * 3_600_000
/** Old keys that a reservation forgets at most, so that none takes long. Each adds one, so they become fewer. */
const MAX_FORGOTTEN = 100
/** Gaps to examine, from the largest id down. Each takes two queries. */
const MAX_GAPS = 20

export function* proposeId(): Steps<bigint | undefined> {
  return (yield* freeRange(1))?.first
}

/** Only one transaction at a time may run it. */
export function* reserveIds(
  count: number,
  key: Uint8Array | undefined,
  clock: SteadyClock,
  actor: string,
  content: Uint8Array = NOTHING,
): Steps<IdRange | 'other content' | undefined> {
  const now = yield* clock.now()
  const before = now - KEY_TIME
  const whole = key === undefined ? undefined : Buffer.concat([key, content])
  if (key !== undefined && whole !== undefined) {
    const [known] = yield [KNOWN, key, Buffer.concat([key, LAST_CONTENT]), before, whole]
    if (known !== undefined) return Number(known[2]) === 1 ? rangeIn(known) : 'other content'
  }
  if (count === 0) return undefined
  yield* forgetKeys(OLD_KEYS, before)
  const range = yield* freeRange(count)
  if (range === undefined) return undefined
  yield* addReservation({ ...range, key: whole, at: new Date(now), actor })
  if (key === undefined) yield* join([range])
  return range
}

const NOTHING = new Uint8Array()
/** Not less than any SHA-256. */
const LAST_CONTENT: Uint8Array = new Uint8Array(32).fill(0xff)

const KNOWN = `SELECT first_id, last_id, CASE WHEN key = $4 THEN 1 ELSE 0 END FROM id_reservations
  WHERE key >= $1 AND key <= $2 AND at > $3`

/** @param hexOfKey the expression for the column `key` in hexadecimal */
export function* exportReservations(hexOfKey: string): Steps<IdReservation[]> {
  const rows = yield [`SELECT first_id, last_id, ${hexOfKey}, at, actor FROM id_reservations ORDER BY first_id`]
  return rows.map((row) => {
    const key = Buffer.from(String(row[2] ?? ''), 'hex')
    const at = new Date(Number(row[3]))
    return { ...rangeIn(row), key: key.length === 0 ? undefined : key, at, actor: String(row[4]) }
  })
}

export function* addReservation({ first, last, key, at, actor }: Reservation): Steps<void> {
  yield ['DELETE FROM id_reservations WHERE first_id > $1 AND first_id <= $2 AND last_id <= $2', first, last]
  if (key !== undefined) yield* forgetKeys('key = $1 AND first_id <> $2', key, first)
  yield [PUT, first, last, key ?? null, at.getTime(), actor]
}

/** Its key is no Buffer where it comes from another thread. */
type Reservation = Omit<IdReservation, 'key'> & { readonly key: Uint8Array | undefined }

const PUT = `INSERT INTO id_reservations (first_id, last_id, key, at, actor) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (first_id) DO UPDATE SET last_id = excluded.last_id, key = excluded.key, at = excluded.at, actor = excluded.actor
  WHERE excluded.last_id >= id_reservations.last_id`

const OLD_KEYS = `first_id IN (
  SELECT first_id FROM id_reservations WHERE key IS NOT NULL AND at <= $1 ORDER BY at LIMIT ${MAX_FORGOTTEN})`

/** Takes the keys from some reservations, and joins them with their neighbours. */
function* forgetKeys(where: string, ...values: (number | bigint | Uint8Array)[]): Steps<void> {
  const sql = `UPDATE id_reservations SET key = NULL WHERE ${where} RETURNING first_id, last_id`
  const forgotten = yield [sql, ...values]
  if (forgotten.length > 0) yield* join(forgotten.map(rangeIn))
}

/** Joins ranges without a key with their neighbours. */
function* join(ranges: readonly IdRange[]): Steps<void> {
  const own = padded(ranges)
  const beside = `WITH own (first_id, next_id) AS (VALUES ${tuplesOf(own)})
    SELECT first_id, last_id FROM id_reservations WHERE key IS NULL AND first_id IN (
      SELECT next_id FROM own UNION ALL
      SELECT (SELECT max(first_id) FROM id_reservations WHERE first_id < own.first_id) FROM own)`
  const near = yield [beside, ...own.flatMap(({ first, last }) => [first, last + 1n])]
  const joined = joinRanges([...ranges, ...near.map(rangeIn)])
  const [grown, gone] = [padded(joined.grown), padded(joined.gone)]
  if (gone.length === 0) return
  yield [`DELETE FROM id_reservations WHERE first_id IN (${gone.map((_, i) => `$${i + 1}`)})`, ...gone]
  const grow = `WITH grown (first_id, last_id) AS (VALUES ${tuplesOf(grown)})
    UPDATE id_reservations SET last_id = grown.last_id FROM grown WHERE id_reservations.first_id = grown.first_id`
  yield [grow, ...grown.flatMap(({ first, last }) => [first, last])]
}

const tuplesOf = (ranges: readonly IdRange[]): string =>
  ranges.map((_, i) => `(CAST($${2 * i + 1} AS bigint), CAST($${2 * i + 2} AS bigint))`).join()

/**
 * Finds a free range of ids: after the largest id in use, or else in the highest gap that is large enough.
 *
 * @returns undefined when none of the examined gaps is large enough
 */
export function* freeRange(count: number): Steps<IdRange | undefined> {
  let end = MAX_PROPOSED + 1n
  for (let gaps = 0; gaps < MAX_GAPS; gaps++) {
    const [plant] = (yield [PLANT, end]).map(rangeIn)
    const [reserved] = (yield [RESERVED, end]).map(rangeIn)
    const used = later(plant, reserved)
    const first = used === undefined ? 1n : used.last + 1n
    if (end - first >= BigInt(count)) return { first, last: first + BigInt(count) - 1n }
    if (used === undefined || used.first <= 1n) return undefined
    end = used.first
  }
  return undefined
}

/** The last plant, and the last reservation, that begins below an id. */
const PLANT = 'SELECT id, id FROM plants WHERE id >= 1 AND id < $1 ORDER BY id DESC LIMIT 1'
const RESERVED = 'SELECT first_id, last_id FROM id_reservations WHERE first_id < $1 ORDER BY first_id DESC LIMIT 1'

const rangeIn = ({ 0: first, 1: last }: SqlRow): IdRange => ({
  first: BigInt(String(first)),
  last: BigInt(String(last)),
})

/** The range that ends later. Ranges in use overlap only where a plant was created with a reserved id. */
function later(one: IdRange | undefined, other: IdRange | undefined): IdRange | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.last > other.last ? one : other
}

/** @returns the reservations that grow so that they cover others, and the first ids of these others */
function joinRanges(ranges: readonly IdRange[]): { readonly grown: IdRange[]; readonly gone: bigint[] } {
  const grown = new Map<bigint, IdRange>()
  const gone = new Set<bigint>()
  let current: IdRange | undefined
  for (const range of ranges.toSorted((one, other) => (one.first < other.first ? -1 : 1))) {
    if (current === undefined || range.first > current.last + 1n) current = range
    else if (range.first !== current.first) {
      current = { first: current.first, last: later(current, range)?.last ?? range.last }
      grown.set(current.first, current)
      gone.add(range.first)
    }
  }
  return { grown: [...grown.values()], gone: [...gone] }
}
