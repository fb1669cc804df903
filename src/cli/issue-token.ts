import { hashSecret, makeSecret, makeTokenId } from '../token.ts'
import type { TokenRequest } from '../token-request.ts'
import type { TokenStore } from '../token-store.ts'

/** Creates a token and stores its hash. @returns the secret, which the store does not keep */
export async function issueToken(tokens: TokenStore, wanted: TokenRequest, secret = makeSecret()): Promise<string> {
  const token = { ...wanted, id: makeTokenId(), createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  await tokens.createToken(token, hashSecret(secret))
  return secret
}
