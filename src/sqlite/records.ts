import type { IdStore } from '../domain/id-store.ts'
import type { TokenStore } from '../domain/token.ts'
import { MAX_ATTEMPTS, type WebhookStore } from '../domain/webhook-store.ts'
import { exportReservations, proposeId } from '../records/ids.ts'
import { exportTokens, listTokens, TOKEN_COLUMNS, tokenIn, touchToken } from '../records/tokens.ts'
import { attemptsOf, changeWebhook, deleteWebhook, insertWebhook, listWebhooks } from '../records/webhooks.ts'
import type { PointReader } from './read/point-reader.ts'
import { runSteps, type Statement } from './rows.ts'
import type { Remote } from './worker/protocol.ts'
import type { AdaptiveWriter } from './write/write-queue.ts'
import type { SqliteWriter } from './write/writer.ts'

const SAVE = 'UPDATE webhooks SET progress = ?3 WHERE id = ?1 AND version = ?2'
const INSERT_ATTEMPTS = `INSERT INTO webhook_attempts (webhook, number, attempt)
  SELECT webhooks.id, key + 1 + coalesce((SELECT max(number) FROM webhook_attempts WHERE webhook = ?1), 0), value
  FROM webhooks, json_each(?2) WHERE webhooks.id = ?1`
const TRIM_ATTEMPTS = `DELETE FROM webhook_attempts WHERE webhook = ?1
  AND number <= (SELECT max(number) - ${MAX_ATTEMPTS} FROM webhook_attempts WHERE webhook = ?1)`

/** The connections of a store. All of these throw the AppError of a store that is closing or out of reach. */
export interface Connections {
  readonly reader: () => PointReader
  readonly writer: () => Remote<SqliteWriter>
  readonly run: AdaptiveWriter['run']
}

export const sqliteTokens = ({ reader, writer }: Connections): TokenStore => ({
  createToken: async (token, hash) => writer().createToken(token, hash),
  issueToken: async (token, hash, options) => writer().issueToken(token, hash, options),
  findToken: async (hash) => reader().all(`SELECT ${TOKEN_COLUMNS} FROM tokens WHERE hash = ?`, hash).map(tokenIn)[0],
  listTokens: async (page = {}) => runSteps(reader(), listTokens(page)),
  exportTokens: async () => runSteps(reader(), exportTokens('hex(hash)')),
  async touchToken(id, usedAt) {
    await writer().run([touchToken(id, usedAt)])
  },
  revokeToken: async (id, sparesLast = false, part) => writer().revokeToken(id, Date.now(), sparesLast, part),
})

export const sqliteIds = ({ reader, writer }: Connections): IdStore => ({
  proposeId: async () => runSteps(reader(), proposeId()),
  reserveIds: async (count, key, { id: actor }, content) => writer().reserveIds(count, key, actor, content),
  exportReservations: async () => runSteps(reader(), exportReservations('hex(key)')),
  addReservation: async (reservation) => writer().addReservation(reservation),
})

export const sqliteWebhooks = ({ reader, writer, run }: Connections): WebhookStore => ({
  async create(webhook, progress, max) {
    const [created] = await writer().run([insertWebhook(webhook, progress, max)])
    return created === 1 ? webhook : ((await this.list(webhook.id))[0]?.webhook ?? 'too many')
  },
  list: async (id) => runSteps(reader(), listWebhooks(id)),
  change: async (...change) => (await writer().run([changeWebhook(...change)]))[0] === 1,
  delete: async (id) => (await writer().run(deleteWebhook(id)))[0] === 1,
  attempts: async (id, limit) => runSteps(reader(), attemptsOf(id, limit)),

  async lease() {
    return (await this.list()).map(({ webhook }) => webhook.id)
  },

  async release() {},

  async save(_holder, saves) {
    const progresses = saves.map(
      ({ id, version, progress }): Statement => [SAVE, id, version, JSON.stringify(progress)],
    )
    const attempts = saves.flatMap(({ id, attempts }): Statement[] => [
      [INSERT_ATTEMPTS, id, JSON.stringify(attempts)],
      [TRIM_ATTEMPTS, id],
    ])
    const changes = await run([...progresses, ...attempts])
    return saves.filter((_save, i) => changes[i] === 0).map(({ id }) => id)
  },
})
