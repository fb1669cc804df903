import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { hashSecret, isScope, makeSecret, SCOPES, type Token } from '../src/domain/token.ts'
import { openNew, openStore } from './support/open-postgres.ts'
import { newDatabase, query } from './support/postgres.ts'
import { until } from './support/until.ts'
import { token } from './token-suite.ts'

test('concurrent look-ups of tokens share a statement and use at most one connection', async (t) => {
  const { url, store } = await openNew(t, { timeout: 60_000 })
  const good = makeSecret()
  await store.tokens.createToken(token('good'), hashSecret(good))
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  try {
    await blocker.query('BEGIN')
    await blocker.query('LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE')
    const found = Promise.all(
      Array.from({ length: 500 }, (_, i) => store.tokens.findToken(hashSecret(i === 250 ? good : makeSecret()))),
    )
    const waiting = async () =>
      (
        await query(
          url,
          `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).length
    await until(async () => (await waiting()) > 0, 'no look-up waits for the lock')
    await sleep(200)
    assert.equal(await waiting(), 1)
    await blocker.query('COMMIT')
    const names = (await found).flatMap((each) => (each === undefined ? [] : [each.name]))
    assert.deepEqual(names, ['good'])
  } finally {
    await blocker.end()
  }
})

test('a new token does not wait for an ended one that another transaction holds, and the next one removes it', async (t) => {
  const { url, store } = await openNew(t)
  const [ended, first, second] = [token('ended'), token('first'), token('second')]
  await store.tokens.createToken({ ...ended, revokedAt: ended.createdAt }, hashSecret(makeSecret()))
  const issue = (wanted: Token) =>
    store.tokens.issueToken(wanted, hashSecret(makeSecret()), { creator: undefined, max: 9, maxEnded: 0 })
  const names = async () => (await store.tokens.listTokens()).map(({ name }) => name).toSorted()
  const holder = new Client({ connectionString: url })
  await holder.connect()
  try {
    await holder.query('BEGIN')
    await holder.query('SELECT FROM tokens FOR UPDATE')
    await issue(first)
    assert.deepEqual(await names(), ['ended', 'first'])
  } finally {
    await holder.end()
  }
  await issue(second)
  assert.deepEqual(await names(), ['first', 'second'])
})

test('of two tokens that revoke each other at once, one stays', async (t) => {
  const url = await newDatabase(t)
  const instances = [await openStore(t, url), await openStore(t, url)]
  const managers = [token('a', { scopes: ['tokens'] }), token('b', { scopes: ['tokens'] })]
  for (const one of managers) await instances[0]?.tokens.createToken(one, hashSecret(makeSecret()))
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  try {
    // Neither transaction can write before both have begun.
    await blocker.query('BEGIN')
    await blocker.query('SELECT FROM tokens FOR UPDATE')
    const results = Promise.all(instances.map(({ tokens }, i) => tokens.revokeToken(managers[i]?.id ?? '', true)))
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    await until(async () => (await query(url, waiting)).length === 2, 'the revocations do not wait')
    await blocker.query('COMMIT')
    assert.deepEqual((await results).toSorted(), ['last', 'revoked'])
  } finally {
    await blocker.end()
  }
})

test('an instance of the release before finds no scope that it knows in a token with a part', async (t) => {
  const { url, store } = await openNew(t)
  const ours = token('of a part', { part: ['a/'], scopes: SCOPES })
  await store.tokens.createToken(ours, hashSecret('x'))
  const [row] = await query<{ scopes: string }>(url, 'SELECT scopes FROM tokens')
  assert.deepEqual(row?.scopes.split(' ').filter(isScope), [])
  assert.deepEqual((await store.tokens.findToken(hashSecret('x')))?.scopes, SCOPES)
})
