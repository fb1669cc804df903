import { GroupCommit } from '../group-commit.ts'
import type { KeptToken } from '../store.ts'
import type { Scope, Token } from '../token.ts'
import type { Row } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

interface Found {
  readonly token: Token | undefined
}

const COLUMNS = 'id, name, scopes, created_at, expires_at, last_used_at, revoked_at'

/** Access tokens. Each write resolves after its commit. */
export class PostgresTokenStore {
  readonly #share: PoolShare
  readonly #finds = new GroupCommit<Buffer, Found>((hashes) => this.#findAll(hashes), {
    // Each waiting look-up belongs to a request, and the HTTP side bounds those.
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWeight: Number.POSITIVE_INFINITY,
    maxGroup: 1000,
    maxInFlight: 1,
    weigh: () => 1,
  })

  constructor(share: PoolShare) {
    this.#share = share
  }

  async create(token: Token, hash: Buffer): Promise<void> {
    const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
    const times = [createdAt, expiresAt, lastUsedAt, revokedAt].map((date) => date?.getTime() ?? null)
    const text = `INSERT INTO tokens (hash, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
    await this.#share.run({ text, values: [hash, id, name, scopes.join(' '), ...times] })
  }

  /** Look-ups that come together share a statement, so a flood of unknown tokens costs the database little. */
  find(hash: Buffer): Promise<Token | undefined> {
    return new Promise((resolve, reject) => {
      this.#finds.submit(hash, (error, found) => (found === undefined ? reject(error) : resolve(found.token)))
    })
  }

  async #findAll(hashes: readonly Buffer[]): Promise<Found[]> {
    const text = `SELECT ${COLUMNS}, encode(hash, 'hex') FROM tokens
      WHERE hash = ANY ($1::bytea[]) AND revoked_at IS NULL`
    const keys = hashes.map((hash) => hash.toString('hex'))
    const values = [`{${keys.map((key) => `"\\\\x${key}"`).join(',')}}`]
    const { rows } = await this.#share.run({ name: 'find-tokens', text, values })
    const found = new Map(rows.map((row) => [row[7], tokenOf(row)]))
    return keys.map((key) => ({ token: found.get(key) }))
  }

  async list(): Promise<Token[]> {
    return (await this.#share.run({ text: `SELECT ${COLUMNS} FROM tokens ORDER BY created_at, id` })).rows.map(tokenOf)
  }

  async export(): Promise<KeptToken[]> {
    const { rows } = await this.#share.run({ text: `SELECT ${COLUMNS}, encode(hash, 'hex') FROM tokens` })
    return rows.map((row) => ({ token: tokenOf(row), hash: Buffer.from(row[7] ?? '', 'hex') }))
  }

  async touch(id: string, usedAt: Date): Promise<void> {
    const text = 'UPDATE tokens SET last_used_at = $2 WHERE id = $1'
    await this.#share.run({ text, values: [id, usedAt.getTime()] })
  }

  async revoke(id: string): Promise<boolean> {
    const text = 'UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
    return (await this.#share.run({ text, values: [id, Date.now()] })).count > 0
  }
}

function tokenOf([id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt]: Row): Token {
  const date = (text: string | null | undefined) => (text == null ? undefined : new Date(Number(text)))
  return {
    id: id ?? '',
    name: name ?? '',
    scopes: (scopes ?? '').split(' ') as Scope[],
    createdAt: new Date(Number(createdAt)),
    expiresAt: date(expiresAt),
    lastUsedAt: date(lastUsedAt),
    revokedAt: date(revokedAt),
  }
}
