import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMigrations } from '../../src/base/migrations.ts'
import type { ActionLog } from '../../src/domain/actions.ts'
import { getAction, listActions } from '../../src/postgres/changes/actions.ts'
import { openHistory } from '../../src/postgres/changes/history.ts'
import { Retention } from '../../src/postgres/changes/retention.ts'
import { migrate } from '../../src/postgres/migrate.ts'
import type { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import type { PostgresStore } from '../../src/postgres/store.ts'
import { TESTER } from '../support/actor.ts'
import { logOf, replace } from '../support/change-entries.ts'
import { openNew, openStore, shareOf } from '../support/open-postgres.ts'
import { OpenTransaction } from '../support/open-transaction.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { buffersOf, poolOf } from '../support/search-plans.ts'
import { plant } from '../support/store-under-test.ts'

const by = (id: string) => ({ ...TESTER, action: { id } })

const retentionOf = (share: PoolShare) =>
  new Retention(share, { keep: Number.MAX_SAFE_INTEGER, keepSize: Number.MAX_SAFE_INTEGER })

/** Writes actions `PREFIX1`, `PREFIX2` and so on, each with rows of two changed plants. */
async function fill(url: string, prefix: string, actions: number, rows: number): Promise<void> {
  await query(
    url,
    `INSERT INTO actions (id, token) SELECT '${prefix}' || n, '${prefix}' FROM generate_series(1, ${actions}) AS n
      ON CONFLICT DO NOTHING`,
  )
  await query(
    url,
    `WITH made AS (INSERT INTO changes (size, ids, names, tags, names_before, tags_before, tokens, action)
        SELECT 60, ARRAY[1, 2], ARRAY['', ''], ARRAY['', ''], ARRAY['', ''], ARRAY['', ''], ARRAY['a'], '${prefix}' || n
        FROM generate_series(1, ${actions}) AS n, generate_series(1, ${rows}) RETURNING action, number, xid)
      INSERT INTO action_rows (action, number, xid, created, updated, deleted)
        SELECT action, number, xid, 0, 2, 0 FROM made`,
  )
}

const tick = (url: string) => query(url, "SELECT tick_changes('0', NULL)")

const actionsOf = (store: PostgresStore): ActionLog => store.actions ?? assert.fail()
const created = async (store: PostgresStore, id: string) => (await actionsOf(store).get(id))?.created

test('PostgreSQL: a page of actions reads as much of large actions as of small ones, and little of a busy log', async (t) => {
  const url = await newDatabase(t)
  await openStore(t, url)
  const pool = poolOf(t, url)
  const pages = async (prefix: string, rows: number) => {
    await fill(url, prefix, 50, rows)
    await tick(url)
    const page = await buffersOf(pool, (run) => listActions(run, {}, 50))
    return { page, one: await buffersOf(pool, (run) => getAction(run, `${prefix}1`)) }
  }
  const [small, large] = [await pages('small', 2), await pages('large', 1000)]
  await fill(url, 'large', 50, 2)
  const busy = await buffersOf(pool, (run) => listActions(run, {}, 50))
  const listed = await listActions(shareOf(t, url).run, {}, 50)
  assert.deepEqual(new Set(listed.map(({ token, updated }) => `${token} ${updated}`)), new Set(['large 2004']))
  t.diagnostic(`pages of the server: ${JSON.stringify({ small, large, busy })}`)
  assert.ok(small.page < 50 * 16 && large.page <= 1.5 * small.page && large.one <= small.one + 8)
  assert.ok(busy <= large.page + 100 * 10, 'a page reads much of the 100 rows since the last tick')
})

test('PostgreSQL: a page of the few old actions of a token, and one of none, read nothing of all others', async (t) => {
  const url = await newDatabase(t)
  await openStore(t, url)
  await fill(url, 'rare', 3, 2)
  await fill(url, 'other', 10_000, 1)
  await tick(url)
  const pool = poolOf(t, url)
  for (const wanted of [{ token: 'rare' }, { token: 'rare', since: 1 }, { token: 'none' }, { since: 10 ** 13 }]) {
    const pages = await buffersOf(pool, (run) => listActions(run, wanted, 50))
    assert.ok(pages < 100, `${JSON.stringify(wanted)}: ${pages} pages of the server`)
  }
})

test('PostgreSQL: each change counts once in its action, in whatever order transactions commit, and ticks come', async (t) => {
  const { url, store } = await openNew(t)
  await store.importPlants([plant(1n)], 'add', by('one'))
  const first = await OpenTransaction.begin(t, url)
  await first.create(plant(2n), 'one')
  const second = await OpenTransaction.begin(t, url)
  await second.create(plant(3n), 'one')
  const areCreated = async (count: number) => {
    assert.equal(await created(store, 'one'), count)
    await tick(url)
    assert.equal(await created(store, 'one'), count)
  }
  await areCreated(1)
  await second.sql('COMMIT')
  await areCreated(2)
  await first.sql('COMMIT')
  await areCreated(3)
  const { ended = 0 } = (await actionsOf(store).get('one')) ?? {}
  await replace(store, plant(1n, 'new'), by('one'))
  assert.ok(((await actionsOf(store).get('one'))?.ended ?? 0) >= ended)
  assert.deepEqual(await query(url, 'SELECT created, updated FROM action_sums'), [{ created: '3', updated: '0' }])
})

test('PostgreSQL: actions from before sums are counted, and are added up beside the service', async (t) => {
  const url = await newDatabase(t)
  const share = shareOf(t, url)
  const schemas = readMigrations(new URL('../../sql/postgres/', import.meta.url))
  await migrate(share, true, undefined, schemas.slice(0, 4))
  await openHistory(share, 'keep')
  await fill(url, 'old', 2, 5)
  await tick(url)
  const store = await openStore(t, url)
  await fill(url, 'new', 1, 5)
  await tick(url)
  const counts = async () =>
    (await actionsOf(store).list({}, 10)).map(({ id, updated }) => `${id} ${updated}`).toSorted()
  assert.deepEqual(await counts(), ['new1 10', 'old1 10', 'old2 10'])
  const undo = await OpenTransaction.begin(t, url)
  await undo.create(plant(7n), 'old1')
  await undo.sql("UPDATE actions SET undone_to = 1 WHERE id = 'old1'")
  await retentionOf(share).run()
  const sums = 'SELECT action, created, updated FROM action_sums ORDER BY 1'
  const [fresh, second] = ['new1', 'old2'].map((action) => ({ action, created: '0', updated: '10' }))
  assert.deepEqual(await query(url, sums), [fresh, second], 'a locked action waits for the next round')
  await undo.sql('COMMIT')
  await logOf(store).end()
  assert.equal(await created(store, 'old1'), 1)
  await retentionOf(share).run()
  const first = { action: 'old1', created: '1', updated: '10' }
  assert.deepEqual(await query(url, sums), [fresh, first, second])
  assert.deepEqual(await counts(), ['new1 10', 'old1 10', 'old2 10'])
})

test('PostgreSQL: sums end with the history', async (t) => {
  const { url, store } = await openNew(t)
  await store.importPlants([plant(1n)], 'add', by('one'))
  await logOf(store).end()
  await store.close()
  await (await openStore(t, url, { history: 'end' })).close()
  const again = await openStore(t, url, { history: 'keep' })
  await again.importPlants([plant(2n), plant(3n)], 'add', by('one'))
  await logOf(again).end()
  assert.equal(await created(again, 'one'), 2)
})
