import {
  endedToRemove,
  faultOfRotation,
  type IssueOptions,
  type IssueResult,
  type RevokeResult,
  TOKEN_COLUMNS,
  type Token,
  tokenIn,
  tokenValues,
} from '../../domain/token.ts'
import type { Statement, StatementCache } from '../rows.ts'

export const insertion = (token: Token, hash: Uint8Array): Statement => [
  `INSERT INTO tokens (${TOKEN_COLUMNS}, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ...tokenValues(token),
  hash,
]

// Each part of the sum reads one range of the index tokens_not_revoked.
const COUNT = `SELECT (SELECT count(*) FROM tokens),
  (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL) +
  (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > ?)`
const REMOVE_ENDED = `DELETE FROM tokens WHERE id IN
  (SELECT id FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= ?
  ORDER BY coalesce(revoked_at, expires_at), id LIMIT ?)`
// The column `scopes` holds words between spaces.
const OTHER_MANAGER = `SELECT 1 FROM tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
  AND id <> ? AND ' ' || scopes || ' ' LIKE '% tokens %' LIMIT 1`

/** See TokenStore.issueToken. Call it inside a transaction of the writer. */
export function issueToken(
  statements: StatementCache,
  token: Token,
  hash: Uint8Array,
  { creator, max, maxEnded, rotates }: IssueOptions,
): IssueResult {
  const now = token.createdAt.getTime()
  if (creator !== undefined && !isActive(find(statements, creator), now)) return 'creator revoked'
  const present = find(statements, token.id)
  if (present !== undefined) return present
  const replaced = rotates && find(statements, rotates.id)
  const fault = rotates && faultOfRotation(replaced, rotates, now)
  if (fault !== undefined) return fault
  const [listed = 0, active = 0] = Object.values(statements.get(COUNT, now) ?? {}).map(Number)
  const leaving = rotates !== undefined && rotates.until <= now ? 1 : 0
  if (active - leaving >= max) return 'too many'
  const removed = endedToRemove(listed - active, maxEnded)
  if (removed > 0) statements.run(REMOVE_ENDED, now, removed)
  if (rotates !== undefined) {
    const { id, until } = rotates
    statements.run('UPDATE tokens SET expires_at = min(ifnull(expires_at, ?1), ?1) WHERE id = ?2', until, id)
  }
  const { name, scopes, expiresAt } = replaced ?? token
  const issued = { ...token, name, scopes, expiresAt }
  statements.run(...insertion(issued, hash))
  return issued
}

/** See TokenStore.revokeToken. Call it inside a transaction of the writer. */
export function revokeToken(statements: StatementCache, id: string, now: number, sparesLast: boolean): RevokeResult {
  const token = find(statements, id)
  if (token === undefined) return 'absent'
  if (token.revokedAt !== undefined) return 'revoked before'
  const isManager = isActive(token, now) && token.scopes.includes('tokens')
  if (sparesLast && isManager && statements.get(OTHER_MANAGER, now, id) === undefined) return 'last'
  statements.run('UPDATE tokens SET revoked_at = ? WHERE id = ?', now, id)
  return 'revoked'
}

const find = (statements: StatementCache, id: string): Token | undefined =>
  statements.all(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = ?`, id).map(tokenIn)[0]

const isActive = (token: Token | undefined, now: number): boolean =>
  token !== undefined && token.revokedAt === undefined && (token.expiresAt?.getTime() ?? now + 1) > now
