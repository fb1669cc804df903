import { GroupCommit } from '../base/group-commit.ts'
import type { Token } from '../domain/token.ts'
import type {
  IssueOptions,
  IssueResult,
  RevokeResult,
  StoredToken,
  TokenPage,
  TokenStore,
} from '../domain/token-store.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { COLUMNS, insertToken, issueToken, revokeToken, tokenOf } from './write/token-writer.ts'

interface Lookup {
  readonly token: Token | undefined
}

/** Milliseconds since 1970 of the earliest Date: no token is older. */
const BEFORE_ALL = -8.64e15

/** Runs a method of the store. Refuses it once the store is closing, and throws faults of the database as AppErrors. */
export type RunMethod = <T>(work: () => Promise<T>) => Promise<T>

/** Keeps access tokens in the database of the store. */
export class PostgresTokenStore implements TokenStore {
  readonly #share: PoolShare
  readonly #run: RunMethod
  readonly #finds = new GroupCommit<Buffer, Lookup>((hashes) => this.#findAll(hashes), {
    // HTTP bounds the number of requests, and each has at most one look-up.
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
    return this.#run(() => insertToken(this.#share.run, token, hash))
  }

  issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    return this.#run(() => this.#share.transaction('BEGIN', (run) => issueToken(run, token, hash, options)))
  }

  /** Concurrent look-ups share a statement, so a flood of unknown tokens costs the database little. */
  findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#run(async () => (await this.#finds.submit(hash)).token)
  }

  listTokens({ after, limit }: TokenPage = {}): Promise<Token[]> {
    const text = `SELECT ${COLUMNS} FROM tokens WHERE (created_at, id) > ($1, $2) ORDER BY created_at, id LIMIT $3`
    const values = [after?.createdAt.getTime() ?? BEFORE_ALL, after?.id ?? '', limit ?? null]
    return this.#run(async () => (await this.#share.run({ text, values })).rows.map(tokenOf))
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

  revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    return this.#run(() => this.#share.transaction('BEGIN', (run) => revokeToken(run, id, sparesLast)))
  }

  async #findAll(hashes: readonly Buffer[]): Promise<Lookup[]> {
    const text = `SELECT ${COLUMNS}, encode(hash, 'hex') FROM tokens WHERE hash = ANY ($1::bytea[])`
    const keys = hashes.map((hash) => hash.toString('hex'))
    const values = [`{${keys.map((key) => `"\\\\x${key}"`).join(',')}}`]
    const { rows } = await this.#share.run({ name: 'find-tokens', text, values })
    const found = new Map(rows.map((row) => [row[7], tokenOf(row)]))
    return keys.map((key) => ({ token: found.get(key) }))
  }
}
