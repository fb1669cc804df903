import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { endedToRemove, type IssueOptions, type RevokeResult } from '../../domain/token-store.ts'
import type { TokenRow } from '../token-rows.ts'

/** The row of the issued token, or the reason of the refusal. */
export type IssuedRow = Record<string, unknown> | 'creator revoked' | 'too many'

/** Writes access tokens. Call each method inside a transaction of the writer. */
export class TokenWriter {
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #count: StatementSync
  readonly #removeEnded: StatementSync
  readonly #hasOtherManager: StatementSync
  readonly #touch: StatementSync
  readonly #revoke: StatementSync

  constructor(db: DatabaseSync) {
    this.#insert = db.prepare(
      'INSERT INTO tokens (id, hash, name, scopes, created_at, expires_at, last_used_at, revoked_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    this.#select = db.prepare('SELECT * FROM tokens WHERE id = ?')
    // Each part of the sum reads one range of the index tokens_not_revoked.
    this.#count = db.prepare(`SELECT (SELECT count(*) FROM tokens) AS listed,
      (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL) +
      (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > ?) AS active`)
    this.#removeEnded = db.prepare(`DELETE FROM tokens WHERE id IN
      (SELECT id FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= ?
      ORDER BY coalesce(revoked_at, expires_at), id LIMIT ?)`)
    this.#hasOtherManager = db.prepare(`SELECT 1 FROM tokens
      WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) AND id <> ? AND ${IS_MANAGER} LIMIT 1`)
    this.#touch = db.prepare('UPDATE tokens SET last_used_at = ? WHERE id = ?')
    this.#revoke = db.prepare('UPDATE tokens SET revoked_at = ? WHERE id = ?')
  }

  insert({ id, hash, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt }: TokenRow): void {
    this.#insert.run(id, hash, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt)
  }

  issue(token: TokenRow, { creator, max, maxEnded }: IssueOptions): IssuedRow {
    if (creator !== undefined && !isActive(this.#select.get(creator), token.createdAt)) return 'creator revoked'
    const present = this.#select.get(token.id)
    if (present !== undefined) return present
    const counts = this.#count.get(token.createdAt)
    const active = Number(counts?.['active'])
    if (active >= max) return 'too many'
    const removed = endedToRemove(Number(counts?.['listed']) - active, maxEnded)
    if (removed > 0) this.#removeEnded.run(token.createdAt, removed)
    this.insert(token)
    return this.#select.get(token.id) ?? {}
  }

  touch(id: string, usedAt: number): void {
    this.#touch.run(usedAt, id)
  }

  revoke(id: string, now: number, sparesLast: boolean): RevokeResult {
    const token = this.#select.get(id)
    if (token === undefined) return 'absent'
    if (token['revoked_at'] !== null) return 'revoked before'
    const isManager = isActive(token, now) && String(token['scopes']).split(' ').includes('tokens')
    if (sparesLast && isManager && this.#hasOtherManager.get(now, id) === undefined) return 'last'
    this.#revoke.run(now, id)
    return 'revoked'
  }
}

/** The column `scopes` holds words between spaces. */
const IS_MANAGER = "' ' || scopes || ' ' LIKE '% tokens %'"

function isActive(row: Record<string, unknown> | undefined, now: number): boolean {
  if (row === undefined || row['revoked_at'] !== null) return false
  return row['expires_at'] === null || Number(row['expires_at']) > now
}
