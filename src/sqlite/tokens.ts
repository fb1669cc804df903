import {
  type IssueOptions,
  type IssueResult,
  type RevokeResult,
  type StoredToken,
  TOKEN_COLUMNS,
  type Token,
  type TokenPage,
  type TokenStore,
  tokenIn,
} from '../domain/token.ts'
import type { PointReader } from './read/point-reader.ts'
import type { Remote } from './worker/protocol.ts'
import { insertion } from './write/tokens.ts'
import type { SqliteWriter } from './write/writer.ts'

/** The connections of a store. Both methods throw the AppError of a store that is closing or out of reach. */
export interface Connections {
  reader(): PointReader
  writer(): Remote<SqliteWriter>
}

/** Keeps access tokens in the file of the store. */
export class SqliteTokenStore implements TokenStore {
  readonly #open: Connections

  constructor(open: Connections) {
    this.#open = open
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    await this.#open.writer().run([insertion(token, hash)])
  }

  async issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    return this.#open.writer().issueToken(token, hash, options)
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#open.reader().all(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ?`, hash).map(tokenIn)[0]
  }

  async listTokens({ after, limit = -1 }: TokenPage = {}): Promise<Token[]> {
    // A row value lets SQLite seek in the index (https://sqlite.org/rowvalue.html#scrolling_window_queries).
    const sql = `SELECT ${TOKEN_COLUMNS} FROM tokens WHERE (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`
    return this.#open
      .reader()
      .all(sql, after?.createdAt.getTime() ?? EARLIEST, after?.id ?? '', limit)
      .map(tokenIn)
  }

  async exportTokens(): Promise<StoredToken[]> {
    const rows = this.#open.reader().all(`SELECT ${TOKEN_COLUMNS}, hash FROM tokens`)
    return rows.map((row) => ({ token: tokenIn(row), hash: Buffer.from(row[7] as Uint8Array) }))
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    await this.#open.writer().run([['UPDATE tokens SET last_used_at = ? WHERE id = ?', usedAt.getTime(), id]])
  }

  async revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    return this.#open.writer().revokeToken(id, Date.now(), sparesLast)
  }
}

/** Milliseconds since 1970 of the earliest Date: no token is older. */
const EARLIEST = -8.64e15
