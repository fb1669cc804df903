import { GroupCommit } from '../base/group-commit.ts'
import {
  endedToRemove,
  faultOfRotation,
  type IssueOptions,
  type IssueResult,
  type RevokeResult,
  type StoredToken,
  TOKEN_COLUMNS,
  type Token,
  type TokenPage,
  type TokenStore,
  tokenIn,
  tokenValues,
} from '../domain/token.ts'
import type { Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

/** Milliseconds since 1970 of the earliest Date: no token is older. */
const BEFORE_ALL = -8.64e15

export class PostgresTokenStore implements TokenStore {
  readonly #share: PoolShare
  readonly #finds = new GroupCommit<Buffer, Token | undefined>((hashes) => this.#findAll(hashes), {
    // HTTP bounds the number of requests, and each has at most one look-up.
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWeight: Number.POSITIVE_INFINITY,
    maxGroup: 1000,
    maxInFlight: 1,
    weigh: () => 1,
  })

  constructor(share: PoolShare) {
    this.#share = share
  }

  createToken(token: Token, hash: Buffer): Promise<void> {
    return insertToken(this.#share.run, token, hash)
  }

  issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    return this.#share.transaction('BEGIN', (run) => issueToken(run, token, hash, options))
  }

  /** Concurrent look-ups share a statement, so a flood of unknown tokens costs the database little. */
  findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#finds.submit(hash)
  }

  async listTokens({ after, limit }: TokenPage = {}): Promise<Token[]> {
    const text = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3`
    const values = [after?.createdAt.getTime() ?? BEFORE_ALL, after?.id ?? '', limit ?? null]
    return (await this.#share.run({ text, values })).rows.map(tokenIn)
  }

  async exportTokens(): Promise<StoredToken[]> {
    const { rows } = await this.#share.run({ text: `SELECT ${TOKEN_COLUMNS}, encode(hash, 'hex') FROM tokens` })
    return rows.map((row) => ({ token: tokenIn(row), hash: Buffer.from(row[7] ?? '', 'hex') }))
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    await this.#share.run({ text: 'UPDATE tokens SET last_used_at = $2 WHERE id = $1', values: [id, usedAt.getTime()] })
  }

  revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    return this.#share.transaction('BEGIN', (run) => revokeToken(run, id, sparesLast))
  }

  async #findAll(hashes: readonly Buffer[]): Promise<(Token | undefined)[]> {
    const text = `SELECT ${TOKEN_COLUMNS}, encode(hash, 'hex') FROM tokens WHERE hash = ANY ($1::bytea[])`
    const keys = hashes.map((hash) => hash.toString('hex'))
    const values = [`{${keys.map((key) => `"\\\\x${key}"`).join(',')}}`]
    const { rows } = await this.#share.run({ name: 'find-tokens', text, values })
    const found = new Map(rows.map((row) => [row[7], tokenIn(row)]))
    return keys.map((key) => found.get(key))
  }
}

const IS_ACTIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)'
/** Scopes are words between spaces. */
const IS_MANAGER = "' ' || scopes || ' ' LIKE '% tokens %'"

/** @param onConflict the clause for an id that exists; without a clause PostgreSQL refuses such an id */
async function insertToken(run: Run, token: Token, hash: Buffer, onConflict = ''): Promise<void> {
  const text = `INSERT INTO tokens (${TOKEN_COLUMNS}, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ${onConflict}`
  await run({ text, values: [...tokenValues(token), hash] })
}

/**
 * Call it inside a transaction. It locks the row of the creator: a revocation of the creator waits for the end of this
 * transaction, or this transaction sees it.
 */
async function issueToken(
  run: Run,
  token: Token,
  hash: Buffer,
  { creator, max, maxEnded, rotates }: IssueOptions,
): Promise<IssueResult> {
  const now = token.createdAt.getTime()
  if (rotates !== undefined) {
    // Both at once and in one order, so that tokens that rotate each other do not deadlock.
    const text = 'SELECT FROM tokens WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE'
    await run({ text, values: [[rotates.id, creator ?? rotates.id]] })
  }
  if (creator !== undefined) {
    const text = `SELECT FROM tokens WHERE id = $2 AND ${IS_ACTIVE} FOR SHARE`
    if ((await run({ text, values: [now, creator] })).rows.length === 0) return 'creator revoked'
  }
  const present = await tokenWith(run, token.id)
  if (present !== undefined) return present
  const replaced = rotates === undefined ? undefined : await tokenWith(run, rotates.id)
  const fault = rotates === undefined ? undefined : faultOfRotation(replaced, rotates, now)
  if (fault !== undefined) return fault
  // Transactions that run at the same time do not see each other, so they may exceed the bound by a few tokens.
  const text = `SELECT (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL)
    + (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > $1), (SELECT count(*) FROM tokens)`
  const { rows } = await run({ text, values: [now] })
  const [active, listed] = (rows[0] ?? []).map(Number)
  const leaving = rotates !== undefined && rotates.until <= now ? 1 : 0
  if (Number(active) - leaving >= max) return 'too many'
  const removed = endedToRemove(Number(listed) - Number(active), maxEnded)
  if (removed > 0) await removeEnded(run, now, removed)
  if (rotates !== undefined) {
    const text = 'UPDATE tokens SET expires_at = $2 WHERE id = $1 AND (expires_at > $2) IS NOT FALSE'
    await run({ text, values: [rotates.id, rotates.until] })
  }
  const { name, scopes, expiresAt } = replaced ?? token
  await insertToken(run, { ...token, name, scopes, expiresAt }, hash, 'ON CONFLICT (id) DO NOTHING')
  return (await tokenWith(run, token.id)) ?? token
}

/** Deletes by id: every server of a sharded store runs the DELETE, and all of them must delete the same tokens. */
async function removeEnded(run: Run, now: number, count: number): Promise<void> {
  const text = `SELECT id FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= $1
    ORDER BY coalesce(revoked_at, expires_at), id LIMIT $2`
  const { rows } = await run({ text, values: [now, count] })
  // In one order, so that two instances that remove the same tokens do not deadlock.
  const ids = rows.map(([id]) => id ?? '').sort()
  await run({ text: 'DELETE FROM tokens WHERE id = ANY ($1::text[])', values: [ids] })
}

/**
 * Call it inside a transaction. With `sparesLast` it locks all active tokens with the scope `tokens`, in one order.
 * When two tokens revoke each other, the second transaction then sees the result of the first.
 */
async function revokeToken(run: Run, id: string, sparesLast: boolean): Promise<RevokeResult> {
  const now = Date.now()
  const isManager = `${IS_ACTIVE} AND ${IS_MANAGER}`
  // With the token itself: a rotation locks it and its creator in this order, and must not deadlock with this.
  const lock = `SELECT id, ${isManager} FROM tokens WHERE id = $2 OR ${isManager} ORDER BY id FOR UPDATE`
  const locked = sparesLast ? (await run({ text: lock, values: [now, id] })).rows : []
  const managers = locked.filter(([, manages]) => manages === 't').map(([manager]) => manager)
  if (managers.length === 1 && managers[0] === id) return 'last'
  const text = 'UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
  if ((await run({ text, values: [id, now] })).count > 0) return 'revoked'
  return (await tokenWith(run, id)) === undefined ? 'absent' : 'revoked before'
}

async function tokenWith(run: Run, id: string): Promise<Token | undefined> {
  const { rows } = await run({ text: `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = $1`, values: [id] })
  return rows.map(tokenIn)[0]
}
