import { hashSecret, makeSecret, makeTokenId, type Token, type TokenRequest } from '../domain/token.ts'
import type { TokenStore } from '../domain/token-store.ts'

export interface IssuedToken {
  readonly token: Token
  /** The store keeps only its hash. */
  readonly secret: string
}

/** Creates a token and stores its hash. */
export async function issueToken(
  tokens: TokenStore,
  wanted: TokenRequest,
  secret = makeSecret(),
): Promise<IssuedToken> {
  const token = { ...wanted, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await tokens.createToken(token, hashSecret(secret))
  return { token, secret }
}

/** Returns the members of an audit line about a new token. */
export const auditedToken = ({ id, name, scopes, expiresAt }: Token): object => ({
  created: id,
  createdName: name,
  scopes,
  expiresAt,
})
