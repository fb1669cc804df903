import type { Actor } from './actor.ts'
import type { IdRange } from './free-ids.ts'

/** A range that was handed out. */
export interface IdReservation extends IdRange {
  /** SHA-256 over the actor and the key of its request; undefined without a key. */
  readonly key: Buffer | undefined
  readonly at: Date
  /** The id of the actor. */
  readonly actor: string
}

/**
 * Ids for plants of people who have none. These comments are the specification for every engine; each runs the same test
 * suite (test/id-suite.ts). A reservation keeps ids from being proposed again, and nothing else: a create with an explicit
 * id stays as it is.
 */
export interface IdStore {
  /** Returns an id that is neither a plant's nor reserved, behind the largest in use; undefined when there is no room. */
  proposeId(): Promise<bigint | undefined>

  /**
   * Reserves so many ids that follow one another. Resolves after the commit. No two calls get the same id, on any
   * instance; only a call with a key that is known gets the range of that key again, whatever its count.
   *
   * @returns undefined when there is no room; nothing changes
   */
  reserveIds(count: number, key: Buffer | undefined, actor: Actor): Promise<IdRange | undefined>

  /** Returns all reservations, for a copy of the store, by their first ids. */
  exportReservations(): Promise<IdReservation[]>

  /** Stores a reservation as a copy brings it. Does nothing where its first id is reserved already. */
  addReservation(reservation: IdReservation): Promise<void>
}
