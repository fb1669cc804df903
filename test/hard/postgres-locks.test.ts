import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { NO_EXPECTATION } from '../../src/domain/plant.ts'
import { TESTER } from '../support/actor.ts'
import { updatePlant } from '../support/change-plant.ts'
import { createPlant } from '../support/create-plant.ts'
import { openNew } from '../support/open-postgres.ts'
import { OpenTransaction } from '../support/open-transaction.ts'
import { plantsOf, query } from '../support/postgres.ts'
import { plant } from '../support/store-under-test.ts'
import { until } from '../support/until.ts'

/** A store with plant 1, which another transaction has changed and not committed yet. */
async function openContended(t: TestContext, sql = '') {
  const { url, store } = await openNew(t)
  await createPlant(store, plant(1n, 'one'), { mustBeNew: true })
  await query(url, sql)
  const other = await OpenTransaction.begin(t, url)
  await other.update(plant(1n, 'one'), plant(1n, 'first'))
  const waits = (statement: string, event = '%') =>
    until(async () => {
      const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND wait_event LIKE '${event}' AND query LIKE '%${statement}%'`
      return (await query(url, sql)).length === 1
    }, `no ${statement} waits for a lock`)
  return { url, store, other, waits }
}

test('an import goes on after another transaction has changed one of its plants, and writes the others once', async (t) => {
  const { url, store, other, waits } = await openContended(
    t,
    `CREATE SEQUENCE inserts;
    CREATE FUNCTION count_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('inserts'); RETURN NULL; END $$;
    CREATE TRIGGER counted AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION count_insert()`,
  )
  const imported = store.importPlants([plant(1n, 'imported'), plant(2n)], 'update', TESTER)
  await waits('UPDATE plants')
  await other.sql('COMMIT')
  assert.deepEqual(await imported, ['updated', 'added'])
  assert.deepEqual(await plantsOf(url), [plant(1n, 'imported'), plant(2n)])
  assert.deepEqual(await query(url, 'SELECT last_value FROM inserts'), [{ last_value: '1' }])
})

test('a change that another transaction overtakes locks the plant, so that no third one overtakes it', async (t) => {
  const { store, other, waits } = await openContended(
    t,
    // An update that has changed nothing yet ends when the test wants.
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE TRIGGER waits AFTER UPDATE ON plants FOR EACH STATEMENT EXECUTE FUNCTION wait()`,
  )
  await other.sql('SELECT pg_advisory_lock(1)')
  const changed = updatePlant(store, 1n, { tag: 'new' }, NO_EXPECTATION, TESTER)
  await waits('UPDATE plants')
  await other.sql('COMMIT')
  await waits('UPDATE plants', 'advisory')
  await other.sql('BEGIN; SELECT FROM plants WHERE id = 1 FOR UPDATE; SELECT pg_advisory_unlock(1)')
  await waits('WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE')
  await other.sql("UPDATE plants SET name = 'second' WHERE id = 1; COMMIT")
  await changed
  assert.deepEqual(await store.getPlant(1n), plant(1n, 'second', 'new'))
})
