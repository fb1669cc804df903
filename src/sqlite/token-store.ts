import type { Token } from '../domain/token.ts'
import type {
  IssueOptions,
  IssueResult,
  RevokeResult,
  StoredToken,
  TokenPage,
  TokenStore,
} from '../domain/token-store.ts'
import type { PointReader } from './read/point-reader.ts'
import { tokenOf, tokenRow } from './token-rows.ts'
import type { Remote } from './worker/protocol.ts'
import type { SqliteWriter } from './write/writer.ts'

/** Keeps access tokens in the file of the store. */
export class SqliteTokenStore implements TokenStore {
  readonly #reader: PointReader
  readonly #writer: Remote<SqliteWriter>
  readonly #mustBeOpen: () => void

  /** @param mustBeOpen throws the AppError of a store that is closing or out of reach */
  constructor(reader: PointReader, writer: Remote<SqliteWriter>, mustBeOpen: () => void) {
    this.#reader = reader
    this.#writer = writer
    this.#mustBeOpen = mustBeOpen
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.createToken(tokenRow(token, hash))
  }

  async issueToken(token: Token, hash: Buffer, options: IssueOptions): Promise<IssueResult> {
    this.#mustBeOpen()
    const result = await this.#writer.issueToken(tokenRow(token, hash), options)
    return typeof result === 'string' ? result : tokenOf(result)
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    this.#mustBeOpen()
    return this.#reader.token(hash)
  }

  async listTokens(page: TokenPage = {}): Promise<Token[]> {
    this.#mustBeOpen()
    return this.#reader.tokens(page)
  }

  async exportTokens(): Promise<StoredToken[]> {
    this.#mustBeOpen()
    return this.#reader.storedTokens()
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.touchToken(id, usedAt.getTime())
  }

  async revokeToken(id: string, sparesLast = false): Promise<RevokeResult> {
    this.#mustBeOpen()
    return this.#writer.revokeToken(id, Date.now(), sparesLast)
  }
}
