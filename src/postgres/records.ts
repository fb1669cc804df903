import { GroupCommit } from '../base/group-commit.ts'
import type { IdStore } from '../domain/id-store.ts'
import type { Token, TokenStore } from '../domain/token.ts'
import { LEASE_TIME, MAX_ATTEMPTS, type WebhookSave, type WebhookStore } from '../domain/webhook-store.ts'
import { addReservation, exportReservations, proposeId, reserveIds } from '../records/ids.ts'
import {
  createToken,
  exportTokens,
  IS_MANAGER,
  issueToken,
  listTokens,
  revokeToken,
  TOKEN_COLUMNS,
  tokenIn,
  touchToken,
} from '../records/tokens.ts'
import { attemptsOf, changeWebhook, deleteWebhook, insertWebhook, listWebhooks } from '../records/webhooks.ts'
import type { Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { postgresClock, runSteps, statementOf } from './rows.ts'

/** Milliseconds since 1970 by the server's clock, which all instances share. */
const NOW = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** Rows are locked in one order, so that tokens that rotate or revoke each other do not deadlock. */
export function postgresTokens(share: PoolShare): TokenStore {
  const finds = new GroupCommit<Buffer, Token | undefined>((hashes) => findAll(share, hashes), {
    // HTTP bounds the number of requests, and each has at most one look-up.
    maxWaiting: Number.POSITIVE_INFINITY,
    maxGroup: 1000,
    maxInFlight: 1,
  })
  return {
    createToken: (token, hash) => runSteps(share.run, createToken(token, hash)),

    /**
     * Locks the row of the creator: a revocation of it waits for the end of this transaction, or this transaction sees
     * it. Transactions that run at the same time do not see each other's tokens, so they may exceed the bound by a few.
     */
    issueToken(token, hash, options) {
      const { creator, rotates } = options
      const ids = [creator, rotates?.id].filter((id) => id !== undefined)
      const lock = rotates === undefined ? 'SHARE' : 'UPDATE'
      const text = `SELECT FROM tokens WHERE id = ANY ($1::text[]) ORDER BY id FOR ${lock}`
      return share.transaction('BEGIN', async (run) => {
        if (ids.length > 0) await run({ text, values: [ids] })
        // The holder of a locked token may wait for this transaction, so the next one removes that token.
        return runSteps(run, issueToken(token, hash, options, 'FOR UPDATE SKIP LOCKED'))
      })
    },

    /** Concurrent look-ups share a statement, so a flood of unknown tokens costs the database little. */
    findToken: (hash) => finds.submit(hash),

    listTokens: (page = {}) => runSteps(share.run, listTokens(page)),

    exportTokens: () => runSteps(share.run, exportTokens("encode(hash, 'hex')")),

    async touchToken(id, usedAt) {
      await share.run(statementOf(touchToken(id, usedAt)))
    },

    /** Locks all active tokens that may manage all others: of two that revoke each other, the second sees the result. */
    revokeToken(id, sparesLast = false, part) {
      const now = Date.now()
      // With the token itself: a rotation locks it and its creator in this order.
      const text = `SELECT FROM tokens WHERE id = $2 OR ($3 AND ${IS_MANAGER}) ORDER BY id FOR UPDATE`
      return share.transaction('BEGIN', async (run) => {
        await run({ text, values: [now, id, sparesLast] })
        return runSteps(run, revokeToken(id, now, sparesLast, part))
      })
    },
  }
}

async function findAll(share: PoolShare, hashes: readonly Buffer[]): Promise<(Token | undefined)[]> {
  const text = `SELECT ${TOKEN_COLUMNS}, encode(hash, 'hex') FROM tokens WHERE hash = ANY ($1::bytea[])`
  const keys = hashes.map((hash) => hash.toString('hex'))
  const values = [`{${keys.map((key) => `"\\\\x${key}"`).join(',')}}`]
  const { rows } = await share.run({ name: 'find-tokens', text, values })
  const found = new Map(rows.map((row) => [row[8], tokenIn(row)]))
  return keys.map((key) => found.get(key))
}

/** @param reservations the share for `reserveIds`, which has one client */
export const postgresIds = (share: PoolShare, reservations: PoolShare, clock = postgresClock()): IdStore => ({
  proposeId: () => share.with((run) => runSteps(run, proposeId())),

  reserveIds: (count, key, { id: actor }, content) =>
    reservations.transaction('BEGIN', async (run) => {
      // Only one transaction of all instances reserves at a time. Reads do not wait for the lock.
      await run({ text: 'LOCK TABLE id_reservations IN SHARE ROW EXCLUSIVE MODE' })
      return runSteps(run, reserveIds(count, key, clock, actor, content))
    }),

  exportReservations: () => share.with((run) => runSteps(run, exportReservations("encode(key, 'hex')"))),

  addReservation: (reservation) => share.transaction('BEGIN', (run) => runSteps(run, addReservation(reservation))),
})

export const postgresWebhooks = (share: PoolShare): WebhookStore => ({
  async create(webhook, progress, max) {
    const insert = statementOf(insertWebhook(webhook, progress, max, [', leased_until', ', 0']))
    const { count } = await share.transaction('BEGIN', async (run) => {
      // Without the lock, transactions that run at the same time would exceed the bound. Reads do not wait for it.
      await run({ text: 'LOCK TABLE webhooks IN SHARE ROW EXCLUSIVE MODE' })
      return run(insert)
    })
    return count === 1 ? webhook : ((await this.list(webhook.id))[0]?.webhook ?? 'too many')
  },

  list: (id) => runSteps(share.run, listWebhooks(id)),

  change: async (...change) => (await share.run(statementOf(changeWebhook(...change)))).count > 0,

  delete: (id) =>
    share.transaction('BEGIN', async (run) => {
      const [webhook, attempts] = deleteWebhook(id)
      const { count } = await run(statementOf(webhook))
      await run(statementOf(attempts))
      return count > 0
    }),

  attempts: (id, limit) => runSteps(share.run, attemptsOf(id, limit)),

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
    WHERE old.webhook = saved.webhook AND number <=
      (SELECT max(number) - ${MAX_ATTEMPTS} FROM webhook_attempts AS newest WHERE newest.webhook = saved.webhook)`
  await run({ text: trim, values: [saves.map(({ id }) => id)] })
}
