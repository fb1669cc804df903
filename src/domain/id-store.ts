import type { Actor } from './token.ts'

/** A reserved range: of one request while its key is known, and of any number of requests later. */
export interface IdReservation extends IdRange {
  /** SHA-256 over the actor and the key of its request, and the content behind it; undefined without a key. */
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
   * that a call with a known key gets the range of that key again, whatever its count; a count of 0 reserves nothing. A key
   * is known for a day.
   *
   * @param content SHA-256 of what the ids are for, which a known key must have too
   * @returns undefined when there is no room, and for a count of 0 with an unknown key, `other content` for a known key with another one; nothing changes
   */
  reserveIds(
    count: number,
    key: Buffer | undefined,
    actor: Actor,
    content?: Buffer,
  ): Promise<IdRange | 'other content' | undefined>

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
