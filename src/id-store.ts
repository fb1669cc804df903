import type { Actor } from './actor.ts'
import type { IdRange } from './free-ids.ts'

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
