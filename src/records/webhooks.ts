import type { Webhook, WebhookAttempt, WebhookProgress } from '../domain/webhook.ts'
import { ATTEMPTS_KEEP, type StoredWebhook } from '../domain/webhook-store.ts'
import type { Sql, Steps } from './steps.ts'
import { scopesOf } from './tokens.ts'

export function* listWebhooks(id: string | undefined): Steps<StoredWebhook[]> {
  const sql = `SELECT definition, progress, version, scopes, expires_at, revoked_at
    FROM webhooks LEFT JOIN tokens ON tokens.id = creator WHERE webhooks.id = coalesce($1, webhooks.id)`
  const dateIn = (time: unknown) => (time === null ? undefined : new Date(Number(time)))
  const all = (yield [sql, id ?? null]).map((row) => ({
    webhook: JSON.parse(String(row[0])) as Webhook,
    progress: JSON.parse(String(row[1])) as WebhookProgress,
    version: Number(row[2]),
    token:
      row[3] === null ? undefined : { scopes: scopesOf(row[3]), expiresAt: dateIn(row[4]), revokedAt: dateIn(row[5]) },
  }))
  return all.sort(
    ({ webhook: one }, { webhook: other }) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
  )
}

/** The positions after which active webhooks have not delivered all events. */
export function* owedPositions(): Steps<string[]> {
  const all = yield ['SELECT definition, progress FROM webhooks']
  return all.flatMap(({ 0: definition, 1: json }) => {
    if ((JSON.parse(String(definition)) as Webhook).state !== 'active') return []
    const { position, held } = JSON.parse(String(json)) as WebhookProgress
    return [position, ...held.map(({ after }) => after)]
  })
}

export function* attemptsOf(id: string, limit: number): Steps<WebhookAttempt[]> {
  const rows = yield [
    'SELECT attempt FROM webhook_attempts WHERE webhook = $1 ORDER BY number DESC LIMIT $2',
    id,
    limit,
  ]
  const attempts = JSON.parse(`[${rows.map(({ 0: attempt }) => attempt).join()}]`) as WebhookAttempt[]
  const oldest = new Date(Date.now() - ATTEMPTS_KEEP).toISOString()
  return attempts.filter(({ time }) => time > oldest)
}

/** It inserts a row, or none. @param more further columns, and their values */
export const insertWebhook = (
  webhook: Webhook,
  progress: WebhookProgress,
  max: number,
  more: readonly [columns: string, values: string] = ['', ''],
): Sql => [
  `INSERT INTO webhooks (id, creator, version, definition, progress${more[0]}) SELECT $1, $2, 1, $3, $4${more[1]}
    WHERE $5 > (SELECT count(*) FROM webhooks) ON CONFLICT DO NOTHING`,
  ...[webhook.id, webhook.creator.id, JSON.stringify(webhook), JSON.stringify(progress), max],
]

/** It changes a row, or none. */
export const changeWebhook = (id: string, version: number, webhook: Webhook, progress?: WebhookProgress): Sql => [
  `UPDATE webhooks SET version = version + 1, creator = $3, definition = $4, progress = coalesce($5, progress)
    WHERE id = $1 AND version = $2`,
  ...[
    id,
    version,
    webhook.creator.id,
    JSON.stringify(webhook),
    progress === undefined ? null : JSON.stringify(progress),
  ],
]

/** The first statement deletes a row, or none. */
export const deleteWebhook = (id: string): readonly [Sql, Sql] => [
  ['DELETE FROM webhooks WHERE id = $1', id],
  ['DELETE FROM webhook_attempts WHERE webhook = $1', id],
]
