import type { DatabaseSync } from 'node:sqlite'
import {
  endedToRemove,
  faultOfRotation,
  type IssueOptions,
  type IssueResult,
  type RevokeResult,
  type Scope,
  type StoredToken,
  storedTime,
  type Token,
  type TokenPage,
  type TokenStore,
} from '../domain/token.ts'
import type { Remote, Served } from './worker/protocol.ts'

/** The calls of SqliteWriter that write tokens. */
interface TokenWrites extends Served {
  createToken(...token: Parameters<TokenWriter['insert']>): void
  issueToken(...request: Parameters<TokenWriter['issue']>): IssueResult
  touchToken(id: string, usedAt: number): void
  revokeToken(id: string, now: number, sparesLast: boolean): RevokeResult
}

/** The calls of PointReader that read tokens. */
interface TokenReads {
  token(hash: Buffer): Token | undefined
  tokens(page: TokenPage): Token[]
  storedTokens(): StoredToken[]
}

/** Keeps access tokens in the file of the store. */
export class SqliteTokenStore implements TokenStore {
  readonly #reader: () => TokenReads
  readonly #writer: () => Remote<TokenWrites>

  /** Both functions throw the AppError of a store that is closing or out of reach. */
  constructor(reader: () => TokenReads, writer: () => Remote<TokenWrites>) {
    this.#reader = reader
    this.#writer = writer
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    await this.#writer().createToken(token, hash)
  }

  async issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    return this.#writer().issueToken(token, hash, options)
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#reader().token(hash)
  }

  async listTokens(page: TokenPage = {}): Promise<Token[]> {
    return this.#reader().tokens(page)
  }

  async exportTokens(): Promise<StoredToken[]> {
    return this.#reader().storedTokens()
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    await this.#writer().touchToken(id, usedAt.getTime())
  }

  async revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    return this.#writer().revokeToken(id, Date.now(), sparesLast)
  }
}

/** Writes access tokens. Call each method inside a transaction of the writer. */
export class TokenWriter {
  readonly #statements: ReturnType<typeof statementsOn>

  constructor(db: DatabaseSync) {
    this.#statements = statementsOn(db)
  }

  insert(token: Token, hash: Uint8Array): void {
    const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
    const times = [createdAt, expiresAt, lastUsedAt, revokedAt].map((date) => date?.getTime() ?? null)
    this.#statements.insert.run(id, hash, name, scopes.join(' '), ...times)
  }

  issue(token: Token, hash: Uint8Array, { creator, max, maxEnded, rotates }: IssueOptions): IssueResult {
    const now = token.createdAt.getTime()
    if (creator !== undefined && !isActive(this.#token(creator), now)) return 'creator revoked'
    const present = this.#token(token.id)
    if (present !== undefined) return present
    const replaced = rotates === undefined ? undefined : this.#token(rotates.id)
    const fault = rotates === undefined ? undefined : faultOfRotation(replaced, rotates, now)
    if (fault !== undefined) return fault
    const counts = this.#statements.count.get(now)
    const active = Number(counts?.['active'])
    const leaving = rotates !== undefined && rotates.until <= now ? 1 : 0
    if (active - leaving >= max) return 'too many'
    const removed = endedToRemove(Number(counts?.['listed']) - active, maxEnded)
    if (removed > 0) this.#statements.removeEnded.run(now, removed)
    if (rotates !== undefined) this.#statements.expire.run(rotates.until, rotates.until, rotates.id)
    const { name, scopes, expiresAt } = replaced ?? token
    this.insert({ ...token, name, scopes, expiresAt }, hash)
    return this.#token(token.id) ?? token
  }

  touch(id: string, usedAt: number): void {
    this.#statements.touch.run(usedAt, id)
  }

  revoke(id: string, now: number, sparesLast: boolean): RevokeResult {
    const token = this.#token(id)
    if (token === undefined) return 'absent'
    if (token.revokedAt !== undefined) return 'revoked before'
    const isManager = isActive(token, now) && token.scopes.includes('tokens')
    if (sparesLast && isManager && this.#statements.hasOtherManager.get(now, id) === undefined) return 'last'
    this.#statements.revoke.run(now, id)
    return 'revoked'
  }

  #token(id: string): Token | undefined {
    const row = this.#statements.select.get(id)
    return row === undefined ? undefined : tokenOf(row)
  }
}

const statementsOn = (db: DatabaseSync) => ({
  insert: db.prepare(`INSERT INTO tokens (id, hash, name, scopes, created_at, expires_at, last_used_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`),
  select: db.prepare('SELECT * FROM tokens WHERE id = ?'),
  // Each part of the sum reads one range of the index tokens_not_revoked.
  count: db.prepare(`SELECT (SELECT count(*) FROM tokens) AS listed,
    (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL) +
    (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > ?) AS active`),
  removeEnded: db.prepare(`DELETE FROM tokens WHERE id IN
    (SELECT id FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= ?
    ORDER BY coalesce(revoked_at, expires_at), id LIMIT ?)`),
  // The column `scopes` holds words between spaces.
  hasOtherManager: db.prepare(`SELECT 1 FROM tokens WHERE revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > ?) AND id <> ? AND ' ' || scopes || ' ' LIKE '% tokens %' LIMIT 1`),
  touch: db.prepare('UPDATE tokens SET last_used_at = ? WHERE id = ?'),
  revoke: db.prepare('UPDATE tokens SET revoked_at = ? WHERE id = ?'),
  expire: db.prepare('UPDATE tokens SET expires_at = min(ifnull(expires_at, ?), ?) WHERE id = ?'),
})

const isActive = (token: Token | undefined, now: number): boolean =>
  token !== undefined && token.revokedAt === undefined && (token.expiresAt?.getTime() ?? now + 1) > now

/** Makes a token of a row of the table `tokens`. */
export function tokenOf(row: Record<string, unknown>): Token {
  return {
    id: String(row['id']),
    name: String(row['name']),
    createdAt: storedTime(Number(row['created_at'])),
    lastUsedAt: dateOf(row['last_used_at']),
    scopes: String(row['scopes']).split(' ') as Scope[],
    expiresAt: dateOf(row['expires_at']),
    revokedAt: dateOf(row['revoked_at']),
  }
}

const dateOf = (value: unknown): Date | undefined => (value === null ? undefined : storedTime(Number(value)))
