import { attemptsIn, MAX_ATTEMPTS, type WebhookStore, webhooksIn } from '../domain/webhook-store.ts'
import type { Statement } from './rows.ts'
import type { Connections } from './tokens.ts'

const INSERT = `INSERT INTO webhooks (id, creator, version, definition, progress) SELECT ?1, ?2, 1, ?3, ?4
  WHERE ?5 > (SELECT count(*) FROM webhooks) ON CONFLICT DO NOTHING`
const CHANGE = `UPDATE webhooks SET version = version + 1, creator = ?3, definition = ?4, progress = coalesce(?5, progress)
  WHERE id = ?1 AND version = ?2`
const SAVE = 'UPDATE webhooks SET progress = ?3 WHERE id = ?1 AND version = ?2'
const INSERT_ATTEMPTS = `INSERT INTO webhook_attempts (webhook, number, attempt)
  SELECT webhooks.id, key + 1 + coalesce((SELECT max(number) FROM webhook_attempts WHERE webhook = ?1), 0), value
  FROM webhooks, json_each(?2) WHERE webhooks.id = ?1`
const TRIM_ATTEMPTS = `DELETE FROM webhook_attempts WHERE webhook = ?1
  AND number <= (SELECT max(number) - ${MAX_ATTEMPTS} FROM webhook_attempts WHERE webhook = ?1)`

/** Keeps webhooks in the file of the store. */
export const sqliteWebhooks = ({ reader, writer, run }: Connections): WebhookStore => ({
  async create(webhook, progress, max) {
    const { id, creator } = webhook
    const values = [id, creator.id, JSON.stringify(webhook), JSON.stringify(progress), max]
    const [created] = await writer().run([[INSERT, ...values]])
    if (created === 1) return webhook
    return (await this.list(id))[0]?.webhook ?? 'too many'
  },

  async list(id) {
    const sql = `SELECT definition, progress, version, scopes, expires_at, revoked_at
      FROM webhooks LEFT JOIN tokens ON tokens.id = creator WHERE webhooks.id = coalesce(?, webhooks.id)`
    return webhooksIn(reader().all(sql, id ?? null))
  },

  async change(id, version, webhook, progress) {
    const texts = [JSON.stringify(webhook), progress === undefined ? null : JSON.stringify(progress)]
    const [changed] = await writer().run([[CHANGE, id, version, webhook.creator.id, ...texts]])
    return changed === 1
  },

  async delete(id) {
    const [, deleted] = await writer().run([
      ['DELETE FROM webhook_attempts WHERE webhook = ?', id],
      ['DELETE FROM webhooks WHERE id = ?', id],
    ])
    return deleted === 1
  },

  async attempts(id, limit) {
    const sql = 'SELECT attempt FROM webhook_attempts WHERE webhook = ? ORDER BY number DESC LIMIT ?'
    return attemptsIn(reader().all(sql, id, limit))
  },

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
