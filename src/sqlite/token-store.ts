import type { Token } from '../token.ts'
import type { StoredToken, TokenStore } from '../token-store.ts'
import type { PointReader } from './read/point-reader.ts'
import { tokenRow } from './token-rows.ts'
import type { WriterPort } from './write/writer-port.ts'

/** The access tokens in the file of the store. */
export class SqliteTokenStore implements TokenStore {
  readonly #reader: PointReader
  readonly #writer: WriterPort
  readonly #mustBeOpen: () => void

  /** @param mustBeOpen throws the AppError of a store that is closing or out of reach */
  constructor(reader: PointReader, writer: WriterPort, mustBeOpen: () => void) {
    this.#reader = reader
    this.#writer = writer
    this.#mustBeOpen = mustBeOpen
  }

  async createToken(token: Token, hash: Buffer): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.call('createToken', tokenRow(token, hash))
  }

  async findToken(hash: Buffer): Promise<Token | undefined> {
    this.#mustBeOpen()
    return this.#reader.token(hash)
  }

  async listTokens(): Promise<Token[]> {
    this.#mustBeOpen()
    return this.#reader.tokens()
  }

  async exportTokens(): Promise<StoredToken[]> {
    this.#mustBeOpen()
    return this.#reader.storedTokens()
  }

  async touchToken(id: string, usedAt: Date): Promise<void> {
    this.#mustBeOpen()
    await this.#writer.call('touchToken', id, usedAt.getTime())
  }

  async revokeToken(id: string): Promise<boolean> {
    this.#mustBeOpen()
    return this.#writer.call('revokeToken', id, Date.now())
  }
}
