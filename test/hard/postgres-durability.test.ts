import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { ConnectionFault } from '../../src/postgres/errors.ts'
import { judge } from '../../src/postgres/migrate.ts'
import { Pool } from '../../src/postgres/pool/pool.ts'
import { PoolShare } from '../../src/postgres/pool/pool-share.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { TESTER } from '../support/actor.ts'
import { deletePlant, replacePlant } from '../support/change-plant.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createPlant } from '../support/create-plant.ts'
import { openNew, openStore } from '../support/open-postgres.ts'
import { newDatabase, plantsOf, query } from '../support/postgres.ts'
import { plant, refusal } from '../support/store-under-test.ts'
import { token } from '../token-suite.ts'

test('every write waits for the disk, whatever synchronous_commit of the database is', async (t) => {
  const url = await newDatabase(t)
  await query(url, `ALTER DATABASE "${new URL(url).pathname.slice(1)}" SET synchronous_commit = off`)
  const store = await openStore(t, url)
  await query(url, 'CREATE TABLE seen (what text, setting text)')
  await query(
    url,
    `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO seen VALUES (TG_OP || ' ' || TG_TABLE_NAME, current_setting('synchronous_commit')); RETURN NULL;
    END $$`,
  )
  for (const table of ['plants', 'tokens', 'write_check']) {
    const events = 'INSERT OR UPDATE OR DELETE'
    await query(url, `CREATE TRIGGER note AFTER ${events} ON ${table} FOR EACH ROW EXECUTE FUNCTION note()`)
  }
  await createPlant(store, plant(1n), { mustBeNew: true })
  await replacePlant(store, plant(1n, 'another'), NO_EXPECTATION, TESTER)
  await deletePlant(store, 1n, NO_EXPECTATION, TESTER)
  await store.importPlants([plant(2n)], 'add', TESTER)
  await store.importPlants([plant(2n, 'another')], 'update', TESTER)
  const one = token('x')
  await store.tokens.createToken(one, Buffer.alloc(32))
  await store.tokens.touchToken(one.id, new Date())
  await store.tokens.revokeToken(one.id)
  await store.checkWritable()
  const seen = await query<{ what: string; setting: string }>(url, 'SELECT DISTINCT what, setting FROM seen ORDER BY 1')
  const found = seen.map(({ what, setting }) => `${what}: ${setting}`)
  assert.deepEqual(found, [
    'DELETE plants: on',
    'INSERT plants: on',
    'INSERT tokens: on',
    'UPDATE plants: on',
    'UPDATE tokens: on',
    'UPDATE write_check: on',
  ])
})

test('a write whose commit fails is refused and not stored', async (t) => {
  const { url, store } = await openNew(t)
  await query(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'no commit' USING ERRCODE = 'insufficient_resources'; END $$`,
  )
  await query(
    url,
    `CREATE CONSTRAINT TRIGGER late AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION fail()`,
  )
  await assert.rejects(createPlant(store, plant(1n)), refusal(50301))
  await assert.rejects(replacePlant(store, plant(2n), NO_EXPECTATION, TESTER), refusal(50301))
  await assert.rejects(store.importPlants([plant(3n)], 'add', TESTER), refusal(50301))
  assert.deepEqual(await plantsOf(url), [])
})

test('a commit that PostgreSQL answers with ROLLBACK counts as failed', async (t) => {
  const url = await newDatabase(t)
  await query(url, 'CREATE TABLE rows (id integer)')
  const address = readPostgresAddress(url, {})
  const pool = new Pool({ address, max: 1, timeout: 10_000, onTrouble: () => {} })
  cleanUp(t, () => pool.close())
  const share = new PoolShare(pool, 1)
  const work = share.transaction('BEGIN', async (run) => {
    await run({ text: 'INSERT INTO rows VALUES (1)' })
    await assert.rejects(run({ text: 'SELECT 1 / 0' }))
  })
  await assert.rejects(
    work,
    (error) => error instanceof ConnectionFault && /answered COMMIT with ROLLBACK/.test(error.message),
  )
  assert.deepEqual(await query(url, 'SELECT FROM rows'), [])
})

suite('a PostgreSQL server', () => {
  const GOOD = {
    server_version_num: '150000',
    server_version: '15.0',
    server_encoding: 'UTF8',
    full_page_writes: 'on',
  }

  test('with the required settings is accepted without a warning', () => {
    for (const number of ['150000', '160004', '180004']) {
      assert.deepEqual(judge({ ...GOOD, server_version_num: number }), [])
    }
  })

  test('that is too old or cannot store every text is refused', () => {
    const old = { server_version_num: '140023', server_version: '14.23' }
    assert.throws(() => judge({ ...GOOD, ...old }), /^OperatorError: PostgreSQL 14\.23 is too old; .* 15 or newer$/)
    for (const encoding of ['SQL_ASCII', 'LATIN1']) {
      assert.throws(() => judge({ ...GOOD, server_encoding: encoding }), /ENCODING 'UTF8'/)
    }
  })

  test('that may tear pages (full_page_writes off) is accepted with a warning', () => {
    const notices = judge({ ...GOOD, full_page_writes: 'off' })
    assert.equal(notices.length, 1)
    assert.match(notices[0] ?? '', /full_page_writes off/)
  })
})
