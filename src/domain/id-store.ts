import type { Actor } from './token.ts'

/**
 * Milliseconds for which a key gets its range again. Without an end, every reservation would need a row of its own for
 * ever.
 */
export const KEY_TIME = 24 * 3_600_000
/** Old keys that a reservation forgets at most, so that none takes long. Each adds one, so they become fewer. */
export const MAX_FORGOTTEN = 100

/** A reserved range: of one request while its key is known, and of any number of requests later. */
export interface IdReservation extends IdRange {
  /** SHA-256 over the actor and the key of its request; undefined without a key. */
  readonly key: Buffer | undefined
  readonly at: Date
  /** The id of the actor. Of several requests it is that of one of them. */
  readonly actor: string
}

/**
 * Proposes and reserves ids for new plants. These comments are the specification for every engine; each runs the same
 * test suite (test/id-suite.ts). The store never proposes a reserved id again, but a create may use it.
 */
export interface IdStore {
  /**
   * Returns an id that is neither a plant's nor reserved, after the largest in use; undefined when there is no room.
   */
  proposeId(): Promise<bigint | undefined>

  /**
   * Reserves `count` consecutive ids. Resolves after the commit. No two calls get the same id, on any instance, except
   * that a call with a known key gets the range of that key again, whatever its count. A key is known for KEY_TIME.
   *
   * @returns undefined when there is no room; nothing changes
   */
  reserveIds(count: number, key: Buffer | undefined, actor: Actor): Promise<IdRange | undefined>

  /** Returns all reservations, for a copy of the store, by their first ids. */
  exportReservations(): Promise<IdReservation[]>

  /** Stores a reservation from a copied store, in place of those within its range. Copying it again changes nothing. */
  addReservation(reservation: IdReservation): Promise<void>
}

/** A range of ids, both ends included. */
export interface IdRange {
  readonly first: bigint
  readonly last: bigint
}

/** The largest id to propose: spreadsheets and programs with double-precision numbers keep it exact. */
export const MAX_PROPOSED = 2n ** 53n - 1n
/** Gaps to examine, from the largest id down. Each takes two queries. */
const MAX_GAPS = 20

/**
 * Finds a free range of ids: after the largest id in use, or else in the highest gap that is large enough. The engine
 * that runs the generator looks each range up in its own tables.
 *
 * @yields an id; the engine passes in the last range in use (a plant or a reservation) that begins from 1 up to below
 *   that id, or undefined when there is none
 * @returns undefined when none of the examined gaps is large enough
 */
export function* findFreeRange(count: number): Generator<bigint, IdRange | undefined, IdRange | undefined> {
  let end = MAX_PROPOSED + 1n
  for (let gaps = 0; gaps < MAX_GAPS; gaps++) {
    const used = yield end
    const first = used === undefined ? 1n : used.last + 1n
    if (end - first >= BigInt(count)) return { first, last: first + BigInt(count) - 1n }
    if (used === undefined || used.first <= 1n) return undefined
    end = used.first
  }
  return undefined
}

/** The range that ends later. Ranges in use overlap only where a plant was created with a reserved id. */
export function later(one: IdRange | undefined, other: IdRange | undefined): IdRange | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.last > other.last ? one : other
}

/** The reservations that grow so that they cover others, which go. The latter are named by their first ids. */
interface JoinedRanges {
  readonly grown: readonly IdRange[]
  readonly gone: readonly bigint[]
}

export function joinRanges(ranges: readonly IdRange[]): JoinedRanges {
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
