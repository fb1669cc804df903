import {
  attemptsIn,
  LEASE_TIME,
  MAX_ATTEMPTS,
  type WebhookSave,
  type WebhookStore,
  webhooksIn,
} from '../domain/webhook-store.ts'
import type { Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

/** Milliseconds since 1970 by the server's clock, which all instances share. */
const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

export const postgresWebhooks = (share: PoolShare): WebhookStore => ({
  async create(webhook, progress, max) {
    const { id, creator } = webhook
    const text = `INSERT INTO webhooks (id, creator, version, definition, progress, leased_until)
      SELECT $1, $2, 1, $3, $4, 0 WHERE $5 > (SELECT count(*) FROM webhooks) ON CONFLICT DO NOTHING`
    const values = [id, creator.id, JSON.stringify(webhook), JSON.stringify(progress), max]
    const { count } = await share.transaction('BEGIN', async (run) => {
      // Without the lock, transactions that run at the same time would exceed the bound. Reads do not wait for it.
      await run({ text: 'LOCK TABLE webhooks IN SHARE ROW EXCLUSIVE MODE' })
      return run({ text, values })
    })
    if (count === 1) return webhook
    return (await this.list(id))[0]?.webhook ?? 'too many'
  },

  async list(id) {
    const text = `SELECT definition, progress, version, scopes, expires_at, revoked_at
      FROM webhooks LEFT JOIN tokens ON tokens.id = creator WHERE $1::text IS NULL OR webhooks.id = $1`
    return webhooksIn((await share.run({ name: 'webhooks', text, values: [id] })).rows)
  },

  async change(id, version, webhook, progress) {
    const text = `UPDATE webhooks SET version = version + 1, creator = $3, definition = $4,
      progress = coalesce($5, progress) WHERE id = $1 AND version = $2`
    const texts = [JSON.stringify(webhook), progress === undefined ? null : JSON.stringify(progress)]
    return (await share.run({ text, values: [id, version, webhook.creator.id, ...texts] })).count > 0
  },

  delete: (id) =>
    share.transaction('BEGIN', async (run) => {
      const { count } = await run({ text: 'DELETE FROM webhooks WHERE id = $1', values: [id] })
      await run({ text: 'DELETE FROM webhook_attempts WHERE webhook = $1', values: [id] })
      return count > 0
    }),

  async attempts(id, limit) {
    const text = 'SELECT attempt FROM webhook_attempts WHERE webhook = $1 ORDER BY number DESC LIMIT $2'
    return attemptsIn((await share.run({ text, values: [id, limit] })).rows)
  },

  async lease(holder) {
    // A lease that ends later than any could is from before the server's clock was set back.
    const text = `UPDATE webhooks SET holder = $1, leased_until = ${NOW} + ${LEASE_TIME}
      WHERE holder = $1 OR leased_until NOT BETWEEN ${NOW} AND ${NOW} + ${2 * LEASE_TIME} RETURNING id`
    return (await share.run({ text, values: [holder] })).rows.map(([id]) => id ?? '')
  },

  async release(holder) {
    await share.run({ text: 'UPDATE webhooks SET leased_until = 0 WHERE holder = $1', values: [holder] })
  },

  save: (holder, saves) =>
    share.transaction('BEGIN', async (run) => {
      const text = `UPDATE webhooks
        SET progress = CASE WHEN webhooks.version = new.version THEN new.progress ELSE webhooks.progress END
        FROM json_to_recordset($2) AS new (id text, version bigint, progress text)
        WHERE webhooks.id = new.id AND holder = $1 RETURNING webhooks.id, webhooks.version = new.version`
      const all = saves.map(({ id, version, progress }) => ({ id, version, progress: JSON.stringify(progress) }))
      const { rows } = await run({ text, values: [holder, JSON.stringify(all)] })
      const ours = new Map(rows.map(([id, isSame]) => [id, isSame === 't']))
      await saveAttempts(
        run,
        saves.filter(({ id }) => ours.has(id)),
      )
      return saves.map(({ id }) => id).filter((id) => ours.get(id) !== true)
    }),
})

/** The instance with the lease is the only one that writes attempts of a webhook. */
async function saveAttempts(run: Run, saves: readonly WebhookSave[]): Promise<void> {
  const rows = saves.flatMap(({ id: webhook, attempts }) =>
    attempts.map((attempt, i) => ({ webhook, number: i + 1, attempt: JSON.stringify(attempt) })),
  )
  if (rows.length === 0) return
  const text = `INSERT INTO webhook_attempts (webhook, number, attempt)
    SELECT webhook, number + coalesce((SELECT max(number) FROM webhook_attempts AS old WHERE old.webhook = new.webhook), 0),
      attempt FROM json_to_recordset($1) AS new (webhook text, number bigint, attempt text)`
  await run({ text, values: [JSON.stringify(rows)] })
  const trim = `DELETE FROM webhook_attempts AS old USING unnest($1::text[]) AS saved (webhook)
    WHERE old.webhook = saved.webhook AND number <= ${MAX_ATTEMPTS_BEFORE}`
  await run({ text: trim, values: [saves.map(({ id }) => id)] })
}

const MAX_ATTEMPTS_BEFORE = `
  (SELECT max(number) - ${MAX_ATTEMPTS} FROM webhook_attempts AS newest WHERE newest.webhook = saved.webhook)`
