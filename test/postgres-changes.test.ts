import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ChangeEntry } from '../src/domain/changes.ts'
import type { NewPlant } from '../src/domain/plant.ts'
import type { PostgresStore } from '../src/postgres/store.ts'
import { changeLogSuite } from './change-log-suite.ts'
import { created, FIRST, known, logOf, readAll, replace, updated } from './support/change-entries.ts'
import { cleanUp } from './support/clean-up.ts'
import { createPlant } from './support/create-plant.ts'
import { openPostgres, openStore } from './support/open-postgres.ts'
import { OpenTransaction } from './support/open-transaction.ts'
import { newDatabase, plantsOf, query, untilLockedOut } from './support/postgres.ts'
import { PostgresServer } from './support/postgres-server.ts'
import { plant } from './support/store-under-test.ts'
import { settled, until } from './support/until.ts'

changeLogSuite('PostgreSQL', openPostgres)

/** A reader that keeps its position, and knows all that it has read. */
class Reader {
  readonly #store: PostgresStore
  readonly seen: ChangeEntry[] = []
  #after: string | undefined

  constructor(store: PostgresStore) {
    this.#store = store
  }

  /** @returns the entries since the last call */
  async more(): Promise<object[]> {
    const entries = await readAll(logOf(this.#store), { after: this.#after })
    this.seen.push(...entries)
    const { next } = await logOf(this.#store).read({ ...FIRST, after: entries.at(-1)?.position ?? this.#after })
    this.#after = next
    return entries.map(known)
  }
}

async function openReader(t: TestContext, own?: string) {
  const url = own ?? (await newDatabase(t))
  const store = await openStore(t, url)
  const reader = new Reader(store)
  await reader.more()
  return { url, store, reader }
}

/** A reader that begins now must read the same entries, at the same positions. */
async function assertLasting(store: PostgresStore, reader: Reader): Promise<void> {
  assert.deepEqual(await reader.more(), [])
  assert.deepEqual(await readAll(logOf(store)), reader.seen)
}

const [one, two] = [plant(1n, 'one'), plant(2n, 'two')]

test('PostgreSQL: a reader gets a change whose number is lower and whose commit is later', async (t) => {
  const { url, store, reader } = await openReader(t)
  const first = await OpenTransaction.begin(t, url)
  await first.create(one)
  await createPlant(store, two)
  assert.deepEqual(await reader.more(), [created(two)])
  await first.sql('COMMIT')
  assert.deepEqual(await reader.more(), [created(one)])
  await assertLasting(store, reader)
})

test('PostgreSQL: a reader gets a change of an older transaction with a later number that commits first', async (t) => {
  const { url, store, reader } = await openReader(t)
  const older = await OpenTransaction.begin(t, url)
  await older.sql('SELECT pg_current_xact_id()')
  const younger = await OpenTransaction.begin(t, url)
  await younger.create(two)
  await older.create(one)
  await older.sql('COMMIT')
  assert.deepEqual(await reader.more(), [created(one)])
  await younger.sql('COMMIT')
  assert.deepEqual(await reader.more(), [created(two)])
  await assertLasting(store, reader)
})

test('PostgreSQL: the end of the log is its last tick, behind any number of ticks', async (t) => {
  const { url, store } = await openReader(t)
  await query(
    url,
    `DO $$ BEGIN FOR i IN 1..1100 LOOP
      INSERT INTO changes (size, ids, names, tags, tokens) VALUES (0, ARRAY[i], '{x}', '{t}', '{a}'); COMMIT;
      PERFORM tick_changes('0 s', NULL); COMMIT;
    END LOOP; END $$`,
  )
  assert.deepEqual(await readAll(logOf(store), { after: await logOf(store).end() }), [])
  const { entries } = await logOf(store).newest({ of: 'stored', tags: [], words: [], limit: 2, before: undefined })
  const found = entries.map(({ plant: one }) => one?.id)
  assert.deepEqual(found, [1100n, 1099n])
})

test('PostgreSQL: changes of one plant by an older transaction after a younger one are in their order', async (t) => {
  for (const readsBetween of [true, false]) {
    const { url, store, reader } = await openReader(t)
    const [before, middle, after] = [plant(7n, 'before'), plant(7n, 'middle'), plant(7n, 'after')]
    await createPlant(store, before)
    const older = await OpenTransaction.begin(t, url)
    await older.create(one)
    await replace(store, middle)
    if (readsBetween) assert.deepEqual(await reader.more(), [created(before), updated(before, middle)])
    await older.update(middle, after)
    await older.sql('COMMIT')
    await reader.more()
    const own = reader.seen.filter((entry) => entry.plant?.id === 7n)
    assert.deepEqual(own.map(known), [created(before), updated(before, middle), updated(middle, after)])
    assert.equal(reader.seen.length, 4)
    await assertLasting(store, reader)
  }
})

test('PostgreSQL: an update that waits for the lock of a plant comes after the change that held the lock', async (t) => {
  const { url, store, reader } = await openReader(t)
  await createPlant(store, one)
  const [first, second] = [await OpenTransaction.begin(t, url), await OpenTransaction.begin(t, url)]
  await first.update(one, plant(1n, 'first'))
  const waiting = second.update(plant(1n, 'first'), plant(1n, 'second'))
  // Its plant was another one when it began to wait, so it changes nothing; the store would decide it again.
  await first.sql('COMMIT')
  await waiting
  await second.update(plant(1n, 'first'), plant(1n, 'second'))
  await second.sql('COMMIT')
  await reader.more()
  const names = reader.seen.map((entry) => entry.plant?.name)
  assert.deepEqual([names[0], names[1]], ['one', 'first'])
  assert.equal(names.at(-1), 'second')
  assert.equal(names.length, 3)
})

test('PostgreSQL: a group has an entry for each plant that it updates, and none for one that was changed meanwhile', async (t) => {
  const { url, store, reader } = await openReader(t)
  const plants = [1n, 2n, 3n].map((id) => plant(id, 'old', `tag ${id}`))
  for (const each of plants) await createPlant(store, each)
  await reader.more()
  const open = await OpenTransaction.begin(t, url)
  const [middle, locked] = [plants[1] as NewPlant, plant(2n, 'locked')]
  await open.update(middle, locked)
  const [ninth, ...news] = [plant(9n), ...plants.map(({ id }) => plant(id, 'new'))] as const
  // The first write is under way alone; the others share the next group, which waits for the lock.
  const writes = Promise.all([replace(store, ninth), ...news.map((each) => replace(store, each))])
  await untilLockedOut(url, 1)
  await open.sql('COMMIT')
  await writes
  await reader.more()
  const of = (id: bigint) => reader.seen.filter((entry) => entry.plant?.id === id).map(known)
  for (const [i, before] of plants.entries()) {
    const after = news[i] as NewPlant
    const changes = before === middle ? [updated(middle, locked), updated(locked, after)] : [updated(before, after)]
    assert.deepEqual(of(before.id), [created(before), ...changes])
  }
  await assertLasting(store, reader)
})

test('PostgreSQL: an unrelated write that stays open holds no other change back', async (t) => {
  const { url, store, reader } = await openReader(t)
  const open = await OpenTransaction.begin(t, url)
  await open.create(plant(1000n))
  // For longer than an entry may take.
  const until = performance.now() + 2000
  for (let i = 10_000; i < 10_030 || performance.now() < until; i++) {
    await createPlant(store, plant(BigInt(i)))
    assert.deepEqual(await reader.more(), [created(plant(BigInt(i)))])
  }
  await open.sql('COMMIT')
  assert.deepEqual(await reader.more(), [created(plant(1000n))])
  const rolledBack = await OpenTransaction.begin(t, url)
  await rolledBack.create(plant(2000n))
  await createPlant(store, plant(31n))
  assert.deepEqual(await reader.more(), [created(plant(31n))])
  await rolledBack.sql('ROLLBACK')
  await assertLasting(store, reader)
})

test('PostgreSQL: a prepared transaction holds nothing back, and its changes come after its commit', async (t) => {
  const server = await PostgresServer.create({ settings: ['max_prepared_transactions=5'] })
  cleanUp(t, () => server.close())
  const { url, store, reader } = await openReader(t, server.url())
  const prepared = await OpenTransaction.begin(t, url)
  await prepared.create(one)
  await prepared.sql("PREPARE TRANSACTION 'one'")
  await createPlant(store, two)
  assert.deepEqual(await reader.more(), [created(two)])
  await server.stop('SIGKILL')
  await server.start()
  await createPlant(store, plant(3n))
  assert.deepEqual(await reader.more(), [created(plant(3n))])
  await query(url, "COMMIT PREPARED 'one'")
  assert.deepEqual(await reader.more(), [created(one)])
  await assertLasting(store, reader)
})

const INSTANCE = fileURLToPath(new URL('./support/change-instance.ts', import.meta.url))

test('PostgreSQL: two instances with 64 writers, and a reader each, lose, repeat and turn no change when one is killed', async (t) => {
  const { url, store } = await openReader(t)
  const instances = ['a', 'b'].map((name) => {
    const child = spawn(process.execPath, [INSTANCE, url, name], { stdio: ['pipe', 'pipe', 'inherit'] })
    cleanUp(t, () => void child.kill('SIGKILL'))
    const read = { text: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (read.text += text))
    return { child, read, ended: once(child, 'exit') }
  })
  const [killed, left] = instances
  assert.ok(killed !== undefined && left !== undefined)
  const lines = ({ text }: { text: string }) => text.split('\n').slice(0, -1)
  for (const { read } of instances) await until(() => lines(read).length > 2000, 'an instance reads too little')
  killed.child.kill('SIGKILL')
  await killed.ended
  const before = lines(left.read).length
  await until(() => lines(left.read).length > before + 1000, 'the other instance reads too little')
  left.child.stdin.write('end\n')
  await settled(left.ended, 'the other instance does not end')
  // The server may still commit the last statements of the killed instance.
  await until(async () => (await readAll(logOf(store))).length === (await logOf(store).usage()).entries, 'writes go on')
  const all = await readAll(logOf(store))
  const positions = all.map(({ position }) => position)
  assert.equal(new Set(positions).size, positions.length)
  assert.deepEqual(positions.toSorted(), positions)
  const present = new Map<bigint, NewPlant>()
  for (const { plant, before, position } of all) {
    const id = (plant ?? before)?.id ?? assert.fail('an entry without a plant')
    assert.deepEqual(present.get(id), before, `the entry ${position} follows the one before`)
    if (plant === undefined) present.delete(id)
    else present.set(id, plant)
  }
  const found = [...present.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  assert.deepEqual(found, await plantsOf(url))
  for (const { read } of instances) assert.deepEqual(lines(read), positions.slice(0, lines(read).length))
  assert.ok(lines(left.read).length > before)
})
