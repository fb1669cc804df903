import type { Store } from '../store.ts'
import { hashSecret, makeSecret, makeTokenId, type Scope } from '../token.ts'

export interface NewToken {
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt: Date | undefined
}

/** Makes a token and keeps its hash. @returns the secret, which the store does not keep */
export async function issueToken(store: Store, wanted: NewToken, secret = makeSecret()): Promise<string> {
  const token = { ...wanted, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await store.createToken(token, hashSecret(secret))
  return secret
}
