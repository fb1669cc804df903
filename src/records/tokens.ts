import { includes, type Part } from '../domain/part.ts'
import {
  endedToRemove,
  faultOfRotation,
  type IssueOptions,
  type IssueResult,
  isActive,
  type RevokeResult,
  type Rotation,
  type Scope,
  type StoredToken,
  type Token,
  type TokenPage,
} from '../domain/token.ts'
import { padded, type Sql, type SqlRow, type Steps } from './steps.ts'

/** The columns of a table of tokens, apart from the hash. */
export const TOKEN_COLUMNS = 'id, name, scopes, created_at, expires_at, last_used_at, revoked_at, part'

/**
 * Begins each scope of a token with a part, in the store alone: instances of the release before know no parts. They find no
 * scope that they know, and so refuse the token what they would else give it of the whole store.
 */
const IN_PART = 'part:'

/** The values of TOKEN_COLUMNS. */
function tokenValues({ id, name, scopes, part, ...times }: Token): (string | number | null)[] {
  const dates = [times.createdAt, times.expiresAt, times.lastUsedAt, times.revokedAt]
  const words = scopes.map((scope) => (part === undefined ? scope : `${IN_PART}${scope}`))
  const text = part === undefined ? null : JSON.stringify(part)
  return [id, name, words.join(' '), ...dates.map((date) => date?.getTime() ?? null), text]
}

/** The scopes in a column of `tokens`. */
export const scopesOf = (words: SqlRow[number]): Scope[] => String(words).replaceAll(IN_PART, '').split(' ') as Scope[]

/** Makes a token of a row that begins with TOKEN_COLUMNS, in the values of any engine. */
export function tokenIn({ 0: id, 1: name, 2: scopes, ...times }: SqlRow): Token {
  const timeIn = (column: number) => (times[column] == null ? undefined : new Date(Number(times[column])))
  return {
    id: String(id),
    name: String(name),
    scopes: scopesOf(scopes),
    part: times[7] == null ? undefined : (JSON.parse(String(times[7])) as Part),
    createdAt: new Date(Number(times[3])),
    expiresAt: timeIn(4),
    lastUsedAt: timeIn(5),
    revokedAt: timeIn(6),
  }
}

/** Milliseconds since 1970 of the earliest Date: no token is older. */
const BEFORE_ALL = -8.64e15
const MAX_REMOVED = 1000

// Each part of the sum reads one range of the index tokens_not_revoked.
const COUNT = `SELECT (SELECT count(*) FROM tokens),
  (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at IS NULL) +
  (SELECT count(*) FROM tokens WHERE revoked_at IS NULL AND expires_at > $1)`

/**
 * The condition of an active token with the scope `tokens` and without a part, at $1. The column `scopes` holds words
 * between spaces.
 */
export const IS_MANAGER =
  "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $1) AND ' ' || scopes || ' ' LIKE '% tokens %'"

export function* listTokens({ after, limit }: TokenPage): Steps<Token[]> {
  const place = [after?.createdAt.getTime() ?? BEFORE_ALL, after?.id ?? '']
  // A row value lets the engine seek in the index (https://sqlite.org/rowvalue.html#scrolling_window_queries).
  const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id`
  const rows = yield limit === undefined ? [sql, ...place] : [`${sql} LIMIT $3`, ...place, limit]
  return rows.map(tokenIn)
}

/** @param hexOfHash the expression for the column `hash` in hexadecimal */
export function* exportTokens(hexOfHash: string): Steps<StoredToken[]> {
  const rows = yield [`SELECT ${TOKEN_COLUMNS}, ${hexOfHash} FROM tokens`]
  return rows.map((row) => ({ token: tokenIn(row), hash: Buffer.from(String(row[8]), 'hex') }))
}

/** @param onConflict the clause for an id that exists; without it, the engine refuses one */
export function* createToken(token: Token, hash: Uint8Array, onConflict = ''): Steps<void> {
  const sql = `INSERT INTO tokens (${TOKEN_COLUMNS}, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ${onConflict}`
  yield [sql, ...tokenValues(token), hash]
}

/**
 * A revocation of the creator must not come between.
 *
 * @param skipLocked the clause that leaves out the rows which another transaction has locked
 */
export function* issueToken(
  token: Token,
  hash: Uint8Array,
  { creator, max, maxEnded, rotates }: IssueOptions,
  skipLocked = '',
): Steps<IssueResult> {
  const now = token.createdAt.getTime()
  const ours = creator === undefined ? undefined : yield* tokenWith(creator)
  if (creator !== undefined && (ours === undefined || !isActive(ours, now))) return 'creator revoked'
  // A rotation may have shortened the creator's time since the request was let in.
  const limit = ours?.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY
  const wanted = (token.expiresAt?.getTime() ?? limit) < limit ? token : { ...token, expiresAt: ours?.expiresAt }
  const found = (stored: Token) => (isRepeated(stored, wanted, rotates) ? stored : 'other content')
  const present = yield* tokenWith(token.id)
  if (present !== undefined) return found(present)
  const replaced = rotates && (yield* tokenWith(rotates.id))
  const bounds = rotates && { ...rotates, expiresAt: Math.min(rotates.expiresAt, limit) }
  const fault = bounds && faultOfRotation(replaced, bounds, now)
  if (fault !== undefined) return fault
  const [counts = [0, 0]] = yield [COUNT, now]
  const [listed, active] = [Number(counts[0]), Number(counts[1])]
  const leaving = rotates !== undefined && rotates.until <= now ? 1 : 0
  if (active - leaving >= max) return 'too many'
  yield* removeEnded(now, endedToRemove(listed - active, maxEnded), skipLocked)
  if (rotates !== undefined) {
    const shorten = 'UPDATE tokens SET expires_at = $2 WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)'
    yield [shorten, rotates.id, rotates.until]
  }
  const { name, scopes, part, expiresAt } = replaced ?? wanted
  const made = { ...token, name, scopes, part, expiresAt }
  yield* createToken(made, hash, 'ON CONFLICT (id) DO NOTHING')
  return found((yield* tokenWith(token.id)) ?? made)
}

/** Whether the token in the store is active, and that of the same request. A rotation gave it the content of another. */
const isRepeated = (stored: Token, wanted: Token, rotates: Rotation | undefined): boolean =>
  stored.revokedAt === undefined &&
  (rotates !== undefined ||
    (stored.name === wanted.name &&
      stored.scopes.join() === wanted.scopes.join() &&
      JSON.stringify(stored.part) === JSON.stringify(wanted.part) &&
      stored.expiresAt?.getTime() === wanted.expiresAt?.getTime()))

function* removeEnded(now: number, count: number, skipLocked: string): Steps<void> {
  for (let left = count; left > 0; left -= MAX_REMOVED) {
    const sql = `SELECT id FROM tokens WHERE revoked_at IS NOT NULL OR expires_at <= $1
      ORDER BY coalesce(revoked_at, expires_at), id LIMIT $2 ${skipLocked}`
    const rows = yield [sql, now, Math.min(left, MAX_REMOVED)]
    const ids = padded(rows.map(({ 0: id }) => String(id)))
    if (ids.length > 0) yield [`DELETE FROM tokens WHERE id IN (${ids.map((_, i) => `$${i + 1}`)})`, ...ids]
  }
}

export const touchToken = (id: string, usedAt: Date): Sql => [
  'UPDATE tokens SET last_used_at = $2 WHERE id = $1',
  id,
  usedAt.getTime(),
]

/** With `sparesLast`, no other token may be revoked between. */
export function* revokeToken(id: string, now: number, sparesLast: boolean, part?: Part): Steps<RevokeResult> {
  const token = yield* tokenWith(id)
  if (token === undefined) return 'absent'
  if (!includes(part, token.part)) return 'too strong'
  if (token.revokedAt !== undefined) return 'revoked before'
  const isManager = token.part === undefined && token.scopes.includes('tokens')
  if (sparesLast && isManager && isActive(token, now)) {
    const others = yield [`SELECT 1 FROM tokens WHERE ${IS_MANAGER} AND id <> $2 LIMIT 1`, now, id]
    if (others.length === 0) return 'last'
  }
  yield ['UPDATE tokens SET revoked_at = $2 WHERE id = $1', id, now]
  return 'revoked'
}

function* tokenWith(id: string): Steps<Token | undefined> {
  return (yield [`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE id = $1`, id]).map(tokenIn)[0]
}
