import type { Token } from './token.ts'

/** A token, and the SHA-256 of its secret. */
export interface StoredToken {
  readonly token: Token
  readonly hash: Buffer
}

/** Bounds on the creation of a token by another one. */
export interface IssueOptions {
  /** The id of the creating token, which must be active at that moment; undefined for a token outside of the store. */
  readonly creator: string | undefined
  /** The most active tokens (neither revoked nor expired) of the store. */
  readonly max: number
  /** The most revoked and expired tokens that the store lists besides. */
  readonly maxEnded: number
}

/** The token in the store, or the refusal: its creator is no longer active, or there are too many tokens. */
export type IssueResult = Token | 'creator revoked' | 'too many'

/** `last`: the call spares the token, which is the last active one with the scope `tokens`. */
export type RevokeResult = 'revoked' | 'revoked before' | 'absent' | 'last'

/** The last token of a page: the next page begins after it. */
export type TokenPosition = Pick<Token, 'createdAt' | 'id'>

export interface TokenPage {
  /** Undefined: from the start. */
  readonly after?: TokenPosition | undefined
  /** Undefined: all of them. */
  readonly limit?: number | undefined
}

/**
 * The access tokens of a store. These comments are the specification for every engine; each engine runs the same test
 * suite (test/token-suite.ts). Writes resolve after the commit. Every method throws the AppErrors that Store names for
 * all of its methods.
 */
export interface TokenStore {
  /** Stores a token under the SHA-256 of its secret, without any bound. */
  createToken(token: Token, hash: Buffer): Promise<void>

  /**
   * Stores a new token within the bounds, atomically. A token that has this id already stays as it is, and is the
   * result. If more tokens have ended than the store may list, it first removes those that ended first: the excess and
   * a tenth of the bound, so that few calls remove any.
   */
  issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult>

  /** Returns the token whose secret has this SHA-256 (32 bytes), even expired or revoked; undefined if unknown. */
  findToken(hash: Buffer): Promise<Token | undefined>

  /** Returns all tokens, also revoked and expired ones, oldest first; tokens of one moment by their ids. */
  listTokens(page?: TokenPage): Promise<Token[]>

  /** Returns the same tokens with their hashes, for a copy of the store; in any order. */
  exportTokens(): Promise<StoredToken[]>

  /** Records that a token was used. A crash may lose the record. Does nothing for an unknown token. */
  touchToken(id: string, usedAt: Date): Promise<void>

  /**
   * Revokes a token. Nothing makes it active again.
   *
   * @param sparesLast leaves the last active token with the scope `tokens`, also when several are revoked at once
   */
  revokeToken(id: string, sparesLast?: boolean): Promise<RevokeResult>
}

/** The number of ended tokens to remove from a store that lists this many of them. */
export const endedToRemove = (ended: number, max: number): number =>
  ended <= max ? 0 : ended - max + Math.floor(max / 10)
