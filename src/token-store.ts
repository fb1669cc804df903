import type { Token } from './token.ts'

/** A token, and the SHA-256 of its secret. */
export interface StoredToken {
  readonly token: Token
  readonly hash: Buffer
}

/** Bounds the creation of a token by another one. */
export interface IssueOptions {
  /** The id of the token that creates it, which must be active at that moment; undefined for one outside of the store. */
  readonly creator: string | undefined
  /** How many active tokens (neither revoked nor expired) the store may have. */
  readonly most: number
}

/** The token in the store, or why it is not there: its creator is not active any more, or the store is full. */
export type IssueResult = Token | 'creator revoked' | 'too many'

/** `last`: it is the last active token with the scope `tokens`, and the call spares it. */
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
 * suite (test/token-suite.ts). Writes resolve after the commit. Every method throws the AppErrors that Store names for all
 * of its methods.
 */
export interface TokenStore {
  /** Stores a token, as it is, under the SHA-256 of its secret. */
  createToken(token: Token, hash: Buffer): Promise<void>

  /**
   * Stores a new token within the bounds, all at one moment. A token with this id that is there already stays as it is;
   * the result is that one then.
   */
  issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult>

  /** Returns the token whose secret has this SHA-256 (32 bytes), expired or not; undefined for an unknown or revoked one. */
  findToken(hash: Buffer): Promise<Token | undefined>

  /** Returns the tokens that were ever created, revoked ones too, oldest first; tokens of one moment by their ids. */
  listTokens(page?: TokenPage): Promise<Token[]>

  /** Returns the same tokens with their hashes, for a copy of the store; in any order. */
  exportTokens(): Promise<StoredToken[]>

  /** Records that a token was used. A crash may lose the record. Does nothing for an unknown token. */
  touchToken(id: string, usedAt: Date): Promise<void>

  /**
   * Revokes a token for good.
   *
   * @param sparesLast leaves the last active token with the scope `tokens`, also when several are revoked at once
   */
  revokeToken(id: string, sparesLast?: boolean): Promise<RevokeResult>
}
