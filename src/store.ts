import type { NewPlant } from './plant.ts'
import type { Token } from './token.ts'

/** `created`: it is new. `unchanged`: the same plant was there already, so a create that is sent again is answered alike. */
export type CreateResult = 'created' | 'unchanged'

/**
 * Told of an outcome exactly once: an error, or undefined and the result. It stands in place of a promise where there is
 * one for every create, which would take 4% of the throughput (docs/decisions/0006-hot-path.md).
 */
export type Answer<T> = (error: unknown, result?: T) => void

export interface CreateOptions {
  /** Refuse an id that exists, even with an equal plant (`If-None-Match: *`). */
  readonly mustBeNew: boolean
}

/**
 * The record of all plants and access tokens. These comments are the specification for every engine; each runs the same
 * test suite (test/store-suite.ts).
 *
 * Every promise of a write is kept or broken only after the outcome is known to be on stable storage. Any method may
 * throw AppError 50301 (out of reach; a write may or may not have been done), and every write 50304 (no space; nothing
 * was done) and 50303 (the store is closing; nothing was done).
 */
export interface Store {
  /**
   * Puts the plant if its id is absent, or finds it there as it is. Answers after the commit that holds it, or with one of
   * these errors; it throws none itself.
   *
   * - AppError 40901 when the id belongs to a plant with another name or tag; nothing changes
   * - AppError 41201 when `mustBeNew` and the id exists; nothing changes
   * - AppError 50302 when too many creates are waiting; nothing is done
   */
  createPlant(plant: NewPlant, options: CreateOptions, answer: Answer<CreateResult>): void

  /** Resolves once a write has really been made and committed; tells readiness. */
  checkWritable(): Promise<void>

  /** Keeps a token under the SHA-256 of its secret. Resolves after the commit. */
  createToken(token: Token, hash: Buffer): Promise<void>

  /** The token whose secret has this SHA-256 (32 bytes), expired or not; undefined when it is unknown or revoked. */
  findToken(hash: Buffer): Promise<Token | undefined>

  /** All tokens, oldest first. */
  listTokens(): Promise<Token[]>

  /** Notes that a token was used. Losing the note in a crash is allowed. Does nothing when the token is gone. */
  touchToken(id: string, usedAt: Date): Promise<void>

  /** Forgets a token for good; false when there is none with this id. Resolves after the commit. */
  revokeToken(id: string): Promise<boolean>

  /** Finishes the writes that are waiting, then lets go of everything. Calling it again does nothing. */
  close(): Promise<void>
}
