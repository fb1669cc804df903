import type { Store } from '../store.ts'
import { hashSecret, makeSecret, makeTokenId, type Scope } from '../token.ts'

export interface TokenWish {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | undefined
}

/** Makes a token and keeps its hash. @returns the secret, which the store does not keep */
export async function mintToken(store: Store, wish: TokenWish, secret = makeSecret()): Promise<string> {
  const token = { ...wish, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await store.createToken(token, hashSecret(secret))
  return secret
}
