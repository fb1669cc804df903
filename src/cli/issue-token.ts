import { hashSecret, makeSecret, makeTokenId, type Scope } from '../token.ts'
import type { TokenStore } from '../token-store.ts'

export interface NewToken {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | undefined
}

/** Makes a token and keeps its hash. @returns the secret, which the store does not keep */
export async function issueToken(tokens: TokenStore, wanted: NewToken, secret = makeSecret()): Promise<string> {
  const token = { ...wanted, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await tokens.createToken(token, hashSecret(secret))
  return secret
}
