import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { NO_EXPECTATION } from '../src/domain/plant.ts'
import type { Store } from '../src/domain/store.ts'
import { Retention } from '../src/postgres/changes/retention.ts'
import { postgresIds } from '../src/postgres/records.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { type Put, SqliteWriter } from '../src/sqlite/write/writer.ts'
import { TESTER } from './support/actor.ts'
import { logOf, readAll, replace } from './support/change-entries.ts'
import { cleanUp } from './support/clean-up.ts'
import { movableClock, movableTime } from './support/clock.ts'
import { command } from './support/commands.ts'
import { tempFolder } from './support/files.ts'
import { openNew, shareOf } from './support/open-postgres.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { writePlantFile } from './support/plant-files.ts'
import { serveStore, TOKEN } from './support/process.ts'
import { actorsIn } from './support/sqlite-changes.ts'
import { plant, refusal } from './support/store-under-test.ts'
import { progress, webhook } from './webhook-suite.ts'

const [HOUR, DAY, YEAR] = [3_600_000, 86_400_000, 365 * 86_400_000]
const HUGE = Number.MAX_SAFE_INTEGER

/** A store whose log is trimmed, and whose keys are known, by a part of it that runs in the thread of the test. */
interface Trimmed {
  readonly store: Store
  readonly trim: (bytes?: number) => Promise<void>
  readonly reserve: (key: string) => Promise<unknown>
}

async function onSqlite(t: TestContext): Promise<Trimmed> {
  const { path, store } = await openSqlite(t, { serving: false, changesKeep: DAY })
  const writer = new SqliteWriter(path)
  cleanUp(t, () => writer.close())
  return {
    store,
    async trim(bytes = HUGE) {
      while (writer.trimChanges(HUGE, { time: DAY, bytes }));
    },
    reserve: async (key) => writer.reserveIds(1, Buffer.alloc(32, key), TESTER.id),
  }
}

async function onPostgres(t: TestContext): Promise<Trimmed> {
  const { url, store } = await openNew(t)
  const share = shareOf(t, url)
  const retentions = new Map<number, Retention>()
  const ids = postgresIds(share, share)
  return {
    store,
    async trim(keepSize = HUGE) {
      const retention = retentions.get(keepSize) ?? new Retention(share, { keep: DAY, keepSize })
      retentions.set(keepSize, retention)
      await retention.run()
    },
    reserve: (key) => ids.reserveIds(1, Buffer.alloc(32, key), TESTER),
  }
}

for (const [engine, open] of [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const) {
  const names = async (store: Store) =>
    (await readAll(logOf(store))).map((entry) => (entry.plant ?? entry.before)?.name)

  /** Changes one plant twice, with a tick of PostgreSQL between. @returns the position after the first change */
  async function changeTwice(store: Store, one: string, other: string): Promise<string> {
    await replace(store, plant(1n, one))
    const between = await logOf(store).end()
    await replace(store, plant(1n, other))
    await logOf(store).end()
    return between
  }

  test(`${engine}: a step of the wall clock removes nothing from the log, and the time that has passed does`, async (t) => {
    const [pass, step] = [movableTime(t), movableClock(t)]
    const { store, trim } = await open(t)
    await changeTwice(store, 'one', 'two')
    await trim()
    for (const years of [14, -14, -56, 56]) {
      step(years * YEAR)
      await replace(store, plant(1n, `in ${years} years`))
      await trim()
    }
    assert.equal((await readAll(logOf(store))).length, 6)
    pass(HOUR)
    await trim()
    pass(DAY)
    await replace(store, plant(1n, 'now'))
    await trim()
    assert.deepEqual((await names(store)).at(-1), 'now')
    assert.ok((await readAll(logOf(store))).length <= 2, 'what is too old stays')
  })

  test(`${engine}: an action with a part that is gone can't be undone, and one without a change left is none`, async (t) => {
    const { store, trim } = await open(t)
    const actions = store.actions ?? assert.fail()
    const by = (id: string) => ({ ...TESTER, action: { id } })
    const change = async (id: string, name: string) => {
      await replace(store, plant(1n, name.padEnd(900)), by(id))
      await logOf(store).end()
    }
    await change('gone', 'first')
    await change('partial', 'second')
    for (let i = 0; i < 20; i++) await change('other', `third ${i}`)
    await change('partial', 'last')
    await trim(5000)
    assert.equal(await actions.get('gone'), undefined)
    const counts = (await actions.list({}, 10)).map(({ id, created, updated }) => [id, created, updated])
    // What the log has let go counts, too.
    assert.deepEqual(counts, [
      ['other', 0, 20],
      ['partial', 0, 2],
    ])
    const end = await logOf(store).end()
    for (const actor of [TESTER, { ...TESTER, action: { id: 'back', undoes: 'partial' } }]) {
      await assert.rejects(actions.undo('partial', undefined, actor), refusal(41002))
    }
    assert.equal(await logOf(store).end(), end)
    await trim(0)
    assert.deepEqual(await actions.get('other'), undefined)
    await change('other', 'anew')
    assert.equal((await actions.get('other'))?.updated, 1)
  })

  test(`${engine}: what an active webhook has not delivered is never too old, but may be too much`, async (t) => {
    const pass = movableTime(t)
    const { store, trim } = await open(t)
    const delivered = await changeTwice(store, 'delivered', 'held')
    await replace(store, plant(1n, 'sent'))
    const read = await logOf(store).end()
    const held = [{ after: delivered, plant: '1', time: 0, attempts: 3, due: 0 }]
    const [slow, paused] = [webhook(), webhook({ state: 'paused', reason: 'person' })]
    await store.webhooks.create(slow, progress(read, { held }), 100)
    await store.webhooks.create(paused, progress((await logOf(store).end()).replace(/.*/, delivered)), 100)
    await trim()
    pass(10 * DAY)
    for (const name of ['young', 'newest']) {
      await replace(store, plant(1n, name))
      await logOf(store).end()
    }
    await trim()
    assert.ok((await names(store)).includes('held'), 'an event that waits for its next attempt is gone')
    const [stored] = await store.webhooks.list(slow.id)
    await store.webhooks.change(slow.id, stored?.version ?? 0, { ...slow, state: 'failed', reason: 'gave-up' })
    await trim()
    const kept = await names(store)
    assert.ok(!kept.includes('held') && kept.includes('newest'), `${kept}`)
    // A webhook that is too slow for the size of the log loses its place in it.
    await store.webhooks.change(slow.id, (stored?.version ?? 0) + 1, slow, progress(await logOf(store).end()))
    for (let i = 0; i < 20; i++) {
      await replace(store, plant(1n, 'x'.repeat(900) + i))
      await logOf(store).end()
    }
    await trim(10_000)
    assert.ok((await logOf(store).usage()).bytes < 12_000)
  })

  test(`${engine}: a key of reserved ids is known for a day that has passed, whatever the wall clock says`, async (t) => {
    const [pass, step] = [movableTime(t), movableClock(t)]
    const { reserve } = await open(t)
    const range = await reserve('a')
    for (const years of [14, -28, 14]) {
      step(years * YEAR)
      await reserve(`${years}`)
      assert.deepEqual(await reserve('a'), range)
    }
    pass(DAY + HOUR)
    assert.notDeepEqual(await reserve('a'), range)
  })
}

test('SQLite: one commit with creates of several tokens writes one row of the log of changes per token', (t) => {
  const path = join(tempFolder(t), 'plants.db')
  createStoreFile(path)
  const writer = new SqliteWriter(path)
  const put = (i: number, actor: string): Put => ({ plant: plant(BigInt(i)), mode: 'add', actor })
  const puts = Array.from({ length: 50 }, (_, i) => put(i, i % 3 === 0 ? 'one' : 'two'))
  writer.createPlants(puts)
  // Creating a plant that exists already changes nothing.
  writer.createPlants([...puts.slice(0, 20), put(60, 'three')])
  writer.changePlants([
    { change: { kind: 'replace', plant: plant(70n), expected: NO_EXPECTATION }, actor: 'one' },
    { change: { kind: 'delete', id: 70n, expected: NO_EXPECTATION }, actor: 'two' },
    { change: { kind: 'replace', plant: plant(70n), expected: NO_EXPECTATION }, actor: 'two' },
  ])
  writer.close()
  const idsOf = (actor: string) => puts.filter((one) => one.actor === actor).map((one) => one.plant.id)
  assert.deepEqual(actorsIn(path), [
    ['create', idsOf('one'), 'one'],
    ['create', idsOf('two'), 'two'],
    ['create', [60n], 'three'],
    ['create', [70n], 'one'],
    ['delete', [70n], 'two'],
    ['create', [70n], 'two'],
  ])
})

test('SQLite: the log of changes names the writer: a token, the configured token or a command', async (t) => {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  const store = `sqlite:${path}`
  const { stdout: secret } = await command(['token', 'create', '--name', 'Kew app', '--store', store])
  const { stdout: list } = await command(['token', 'list', '--store', store])
  const id = /tok_\w+/.exec(list)?.[0] ?? assert.fail(list)
  writePlantFile(join(folder, 'plants.csv'), [plant(1n)])
  await command(['import', join(folder, 'plants.csv'), '--store', store])
  const { address } = await serveStore(t, store, ['--changes-keep', '1h'])
  const steps: [method: string, path: string, token: string, body?: string, type?: string][] = [
    ['POST', '/plants', secret.trim(), '{"id":2,"name":"Fern"}'],
    ['POST', '/plants', TOKEN, '{"id":3,"name":"Moss"}'],
    ['PUT', '/plants/2', TOKEN, '{"name":"Aloe"}'],
    ['PATCH', '/plants/2', secret.trim(), '{"tag":"dry"}', 'application/merge-patch+json'],
    ['DELETE', '/plants/2', secret.trim()],
    ['POST', '/plants/import', secret.trim(), '{"id":4,"name":"Lily"}', 'application/x-ndjson'],
  ]
  for (const [method, path, token, body, type = 'application/json'] of steps) {
    const headers = { Authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'Content-Type': type }) }
    const answer = await fetch(`${address}${path}`, { method, headers, body: body ?? null })
    assert.ok(answer.ok, `${method} ${path}: ${await answer.text()}`)
  }
  assert.deepEqual(actorsIn(path), [
    ['create', [1n], 'command:import'],
    ['create', [2n], id],
    ['create', [3n], 'configured'],
    ['replace', [2n], 'configured'],
    ['update', [2n], id],
    ['delete', [2n], id],
    ['create', [4n], id],
  ])
  await command(['copy', '--from', store, '--to', `${store}.copy`])
  assert.deepEqual(actorsIn(`${path}.copy`), [['create', [1n, 3n, 4n], 'command:copy']])
})
