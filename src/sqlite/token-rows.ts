import { type Scope, storedTime, type Token } from '../domain/token.ts'

/**
 * A token in a message to the writer's thread. Times are milliseconds since 1970, and scopes are words between spaces.
 */
export interface TokenRow {
  readonly id: string
  readonly hash: Uint8Array
  readonly name: string
  readonly scopes: string
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
}

export function tokenRow(token: Token, hash: Buffer): TokenRow {
  const time = (date: Date | undefined) => date?.getTime() ?? null
  return {
    id: token.id,
    hash,
    name: token.name,
    scopes: token.scopes.join(' '),
    createdAt: token.createdAt.getTime(),
    expiresAt: time(token.expiresAt),
    lastUsedAt: time(token.lastUsedAt),
    revokedAt: time(token.revokedAt),
  }
}

/** Makes a token of a row of the table `tokens`. */
export function tokenOf(row: Record<string, unknown>): Token {
  const date = (value: unknown) => (value === null ? undefined : storedTime(Number(value)))
  return {
    id: String(row['id']),
    name: String(row['name']),
    scopes: String(row['scopes']).split(' ') as Scope[],
    createdAt: storedTime(Number(row['created_at'])),
    expiresAt: date(row['expires_at']),
    lastUsedAt: date(row['last_used_at']),
    revokedAt: date(row['revoked_at']),
  }
}
