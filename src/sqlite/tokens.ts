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
import { exportTokens, listTokens } from '../records/tokens.ts'
import type { PointReader } from './read/point-reader.ts'
import { runSteps } from './rows.ts'
import type { Remote } from './worker/protocol.ts'
import type { Writer } from './write/write-queue.ts'
import type { SqliteWriter } from './write/writer.ts'

/** The connections of a store. All methods throw the AppError of a store that is closing or out of reach. */
export interface Connections {
  reader(): PointReader
  writer(): Remote<SqliteWriter>
  run: Writer['run']
}

/** Keeps access tokens in the file of the store. */
export class SqliteTokenStore implements TokenStore {
  readonly #open: Connections

  constructor(open: Connections) {
    this.#open = open
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    await this.#open.writer().createToken(token, hash)
  }

  async issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    return this.#open.writer().issueToken(token, hash, options)
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    return this.#open.reader().all(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ?`, hash).map(tokenIn)[0]
  }

  async listTokens(page: TokenPage = {}): Promise<Token[]> {
    return runSteps(this.#open.reader(), listTokens(page))
  }

  async exportTokens(): Promise<StoredToken[]> {
    return runSteps(this.#open.reader(), exportTokens('hex(hash)'))
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    await this.#open.writer().run([['UPDATE tokens SET last_used_at = ? WHERE id = ?', usedAt.getTime(), id]])
  }

  async revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    return this.#open.writer().revokeToken(id, Date.now(), sparesLast)
  }
}
