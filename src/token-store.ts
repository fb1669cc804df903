import type { Token } from './token.ts'

/** A token, and the SHA-256 of its secret. */
export interface StoredToken {
  readonly token: Token
  readonly hash: Buffer
}

/**
 * The access tokens of a store. These comments are the specification for every engine; each engine runs the same test
 * suite (test/token-suite.ts). Writes resolve after the commit. Every method throws the AppErrors that Store names for all
 * of its methods.
 */
export interface TokenStore {
  /** Stores a token, as it is, under the SHA-256 of its secret. */
  createToken(token: Token, hash: Buffer): Promise<void>

  /** Returns the token whose secret has this SHA-256 (32 bytes), expired or not; undefined for an unknown or revoked one. */
  findToken(hash: Buffer): Promise<Token | undefined>

  /** Returns all tokens that were ever created, revoked ones too, oldest first. */
  listTokens(): Promise<Token[]>

  /** Returns the same tokens with their hashes, for a copy of the store; in any order. */
  exportTokens(): Promise<StoredToken[]>

  /** Records that a token was used. A crash may lose the record. Does nothing for an unknown token. */
  touchToken(id: string, usedAt: Date): Promise<void>

  /** Revokes a token for good. Returns false when the id is unknown, or its token is already revoked. */
  revokeToken(id: string): Promise<boolean>
}
