import { type Scope, storedTime, type Token } from '../../domain/token.ts'
import { endedToRemove, type IssueOptions, type IssueResult, type RevokeResult } from '../../domain/token-store.ts'
import type { Row, Run } from '../pool/client.ts'

export const COLUMNS = 'id, name, scopes, created_at, expires_at, last_used_at, revoked_at'

const IS_ACTIVE = 'revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1)'
/** Scopes are words between spaces. */
const IS_MANAGER = "' ' || scopes || ' ' LIKE '% tokens %'"

/** @param onConflict the clause for an id that exists; without a clause PostgreSQL refuses such an id */
export async function insertToken(run: Run, token: Token, hash: Buffer, onConflict = ''): Promise<void> {
  const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
  const times = [createdAt, expiresAt, lastUsedAt, revokedAt].map((date) => date?.getTime() ?? null)
  const text = `INSERT INTO tokens (hash, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ${onConflict}`
  await run({ text, values: [hash, id, name, scopes.join(' '), ...times] })
}

/**
 * Call it inside a transaction. It locks the row of the creator: a revocation of the creator waits for the end of this
 * transaction, or this transaction sees it.
 */
export async function issueToken(
  run: Run,
  token: Token,
  hash: Buffer,
  { creator, max, maxEnded }: IssueOptions,
): Promise<IssueResult> {
  const now = token.createdAt.getTime()
  if (creator !== undefined) {
    const text = `SELECT FROM tokens WHERE id = $2 AND ${IS_ACTIVE} FOR SHARE`
    if ((await run({ text, values: [now, creator] })).rows.length === 0) return 'creator revoked'
  }
  const present = await tokenWith(run, token.id)
  if (present !== undefined) return present
  // Transactions that run at the same time do not see each other, so they may exceed the bound by a few tokens.
  const text = `SELECT (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL)
    + (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > $1), (SELECT count(*) FROM tokens)`
  const { rows } = await run({ text, values: [now] })
  const [active, listed] = (rows[0] ?? []).map(Number)
  if (Number(active) >= max) return 'too many'
  const removed = endedToRemove(Number(listed) - Number(active), maxEnded)
  if (removed > 0) await removeEnded(run, now, removed)
  await insertToken(run, token, hash, 'ON CONFLICT (id) DO NOTHING')
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
export async function revokeToken(run: Run, id: string, sparesLast: boolean): Promise<RevokeResult> {
  const now = Date.now()
  const active = `SELECT id FROM tokens WHERE ${IS_ACTIVE} AND ${IS_MANAGER} ORDER BY id FOR UPDATE`
  const managers = sparesLast ? (await run({ text: active, values: [now] })).rows.map(([manager]) => manager) : []
  if (managers.length === 1 && managers[0] === id) return 'last'
  const text = 'UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
  if ((await run({ text, values: [id, now] })).count > 0) return 'revoked'
  return (await tokenWith(run, id)) === undefined ? 'absent' : 'revoked before'
}

async function tokenWith(run: Run, id: string): Promise<Token | undefined> {
  const { rows } = await run({ text: `SELECT ${COLUMNS} FROM tokens WHERE id = $1`, values: [id] })
  return rows[0] === undefined ? undefined : tokenOf(rows[0])
}

export function tokenOf([id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt]: Row): Token {
  const date = (text: string | null | undefined) => (text == null ? undefined : storedTime(Number(text)))
  return {
    id: id ?? '',
    name: name ?? '',
    scopes: (scopes ?? '').split(' ') as Scope[],
    createdAt: storedTime(Number(createdAt)),
    expiresAt: date(expiresAt),
    lastUsedAt: date(lastUsedAt),
    revokedAt: date(revokedAt),
  }
}
