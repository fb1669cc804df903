import { GroupCommit } from '../group-commit.ts'
import type { Scope, Token } from '../token.ts'
import type { StoredToken, TokenStore } from '../token-store.ts'
import type { Row } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

interface Found {
  readonly token: Token | undefined
}

const COLUMNS = 'id, name, scopes, created_at, expires_at, last_used_at, revoked_at'

/** Runs a method of the store: refuses it once the store is closing, and throws faults as AppErrors. */
export type RunMethod = <T>(work: () => Promise<T>) => Promise<T>

/** The access tokens in the database of the store. */
export class PostgresTokenStore implements TokenStore {
  readonly #share: PoolShare
  readonly #run: RunMethod
  readonly #finds = new GroupCommit<Buffer, Found>((hashes) => this.#findAll(hashes), {
    // Each waiting look-up belongs to a request, and the HTTP side bounds those.
    maxWaiting: Number.POSITIVE_INFINITY,
    maxWeight: Number.POSITIVE_INFINITY,
    maxGroup: 1000,
    maxInFlight: 1,
    weigh: () => 1,
  })

  constructor(share: PoolShare, run: RunMethod) {
    this.#share = share
    this.#run = run
  }

  createToken(token: Token, hash: Buffer): Promise<void> {
    const { id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt } = token
    const times = [createdAt, expiresAt, lastUsedAt, revokedAt].map((date) => date?.getTime() ?? null)
    const text = `INSERT INTO tokens (hash, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
    return this.#run(async () => {
      await this.#share.run({ text, values: [hash, id, name, scopes.join(' '), ...times] })
    })
  }

  /** Look-ups that come together share a statement, so a flood of unknown tokens costs the database little. */
  findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#run(async () => (await this.#finds.submit(hash)).token)
  }

  listTokens(): Promise<Token[]> {
    const text = `SELECT ${COLUMNS} FROM tokens ORDER BY created_at, id`
    return this.#run(async () => (await this.#share.run({ text })).rows.map(tokenOf))
  }

  exportTokens(): Promise<StoredToken[]> {
    const text = `SELECT ${COLUMNS}, encode(hash, 'hex') FROM tokens`
    return this.#run(async () => {
      const { rows } = await this.#share.run({ text })
      return rows.map((row) => ({ token: tokenOf(row), hash: Buffer.from(row[7] ?? '', 'hex') }))
    })
  }

  touchToken(id: string, usedAt: Date): Promise<void> {
    const text = 'UPDATE tokens SET last_used_at = $2 WHERE id = $1'
    return this.#run(async () => {
      await this.#share.run({ text, values: [id, usedAt.getTime()] })
    })
  }

  revokeToken(id: string): Promise<boolean> {
    const text = 'UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
    return this.#run(async () => (await this.#share.run({ text, values: [id, Date.now()] })).count > 0)
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
