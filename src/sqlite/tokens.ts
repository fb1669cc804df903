import { TOKEN_COLUMNS, type TokenStore, tokenIn } from '../domain/token.ts'
import { exportTokens, listTokens } from '../records/tokens.ts'
import type { PointReader } from './read/point-reader.ts'
import { runSteps } from './rows.ts'
import type { Remote } from './worker/protocol.ts'
import type { Writer } from './write/write-queue.ts'
import type { SqliteWriter } from './write/writer.ts'

/** The connections of a store. All of these throw the AppError of a store that is closing or out of reach. */
export interface Connections {
  readonly reader: () => PointReader
  readonly writer: () => Remote<SqliteWriter>
  readonly run: Writer['run']
}

/** Keeps access tokens in the file of the store. */
export const sqliteTokens = ({ reader, writer }: Connections): TokenStore => ({
  createToken: async (token, hash) => writer().createToken(token, hash),
  issueToken: async (token, hash, options) => writer().issueToken(token, hash, options),
  findToken: async (hash) => reader().all(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ?`, hash).map(tokenIn)[0],
  listTokens: async (page = {}) => runSteps(reader(), listTokens(page)),
  exportTokens: async () => runSteps(reader(), exportTokens('hex(hash)')),
  async touchToken(id, usedAt) {
    await writer().run([['UPDATE tokens SET last_used_at = ? WHERE id = ?', usedAt.getTime(), id]])
  },
  revokeToken: async (id, sparesLast = false) => writer().revokeToken(id, Date.now(), sparesLast),
})
