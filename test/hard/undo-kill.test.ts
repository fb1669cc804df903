import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query } from '../support/postgres.ts'
import { type Served, serveStore } from '../support/process.ts'
import { rowsOf, STORES, UndoClient } from '../support/undo-service.ts'
import { until } from '../support/until.ts'

/** Plants that the action creates, changes and deletes; some steps each. */
const EACH = 1800
const ACTION = 'work'
const RETRY = { 'Idempotency-Key': 'a-key-of-twenty-and-more' }

const changesOf = ({ created, updated, deleted }: { created: number; updated: number; deleted: number }): number =>
  created + updated + deleted

/** Makes the action, and what others change after it. @returns the export that the undo is to come back to */
async function prepare(client: UndoClient): Promise<string> {
  await client.importPlants(rowsOf(1, 2 * EACH, 'old'))
  const before = (await client.export()).trimEnd().split('\n')
  await client.importPlants(rowsOf(1, EACH, 'new'), { action: ACTION })
  await client.importPlants(rowsOf(EACH + 1, EACH, 'old'), { mode: 'delete', action: ACTION })
  await client.importPlants(rowsOf(2 * EACH + 1, EACH, 'new'), { action: ACTION })
  const others = [rowsOf(7, 1, 'else'), rowsOf(EACH + 7, 1, 'else'), rowsOf(2 * EACH + 7, 1, 'else')].flat()
  await client.importPlants(others)
  const after = before.map((row, i) => (i === 6 || i === EACH + 6 ? (others[Math.floor(i / EACH)] ?? row) : row))
  return `${[...after, others[2]].join('\n')}\n`
}

/** Asserts that the log names each change of the undo, and that the plants are what the log says. */
async function assertNamed(client: UndoClient, end: string, start: string): Promise<void> {
  const changes = await client.changes(end)
  const [undo] = await client.actions('?limit=1')
  assert.equal(undo?.undoes, ACTION)
  assert.deepEqual(new Set(changes.map(({ action }) => action)), new Set([undo.id]), 'each change of the undo names it')
  const counts = Object.fromEntries(
    ['created', 'updated', 'deleted'].map((kind) => [
      kind,
      changes.filter(({ type }) => type === `plant.${kind}`).length,
    ]),
  )
  const { created, updated, deleted } = undo
  assert.deepEqual({ created, updated, deleted }, counts)
  assert.equal((await client.changes(undefined, `&action=${undo.id}`)).length, changes.length)
  const plants = new Map(
    start
      .trimEnd()
      .split('\n')
      .map((row): [number, string] => [JSON.parse(row).id, row]),
  )
  for (const { plant, before } of changes) {
    if (plant === undefined) plants.delete(before?.id ?? 0)
    else plants.set(plant.id, JSON.stringify(plant))
  }
  const rows = [...plants].sort(([a], [b]) => a - b).map(([, row]) => row)
  assert.equal(await client.export(), `${rows.join('\n')}\n`)
}

/** Kills the service, and waits until no statement of it is under way in the database. */
async function kill({ program }: Served, address: string): Promise<void> {
  await program.kill()
  if (address.startsWith('sqlite:')) return
  const own = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plantstore'`
  await until(async () => (await query(address, `SELECT ${own}`)).length === 0, 'the database keeps the connections')
}

for (const [engine, newStore] of STORES) {
  test(`${engine}: an undo that kills interrupt goes on with its key to the state of an undisturbed one`, async (t) => {
    const address = await newStore(t)
    let served = await serveStore(t, address)
    let client = new UndoClient(served.address)
    const expected = await prepare(client)
    const start = await client.export()
    const end = (await client.changes()).at(-1)?.position ?? assert.fail()
    let kills = 0
    for (const share of [0.01, 0.4]) {
      const broken = client.undo(ACTION, RETRY).catch(() => 'broken')
      await until(async () => {
        const [newest] = await client.actions('?limit=1')
        return newest?.undoes === ACTION && changesOf(newest) >= share * 3 * EACH
      }, 'the undo does not begin')
      await kill(served, address)
      // On a quick machine the last steps may have ended before.
      if ((await broken) === 'broken') kills++
      served = await serveStore(t, address)
      client = new UndoClient(served.address)
      await assertNamed(client, end, start)
    }
    assert.ok(kills > 0, 'no kill interrupts the undo')
    const report = await client.undo(ACTION, RETRY)
    assert.deepEqual([report.restored, report.left], [3 * EACH - 3, 3])
    const ids = report.leftPlants.map(({ id }) => id).sort((a, b) => a - b)
    assert.deepEqual(ids, [7, EACH + 7, 2 * EACH + 7])
    await assertNamed(client, end, start)
    assert.equal(await client.export(), expected)
    const [undo, ...others] = await client.actions()
    const work = others.find(({ id }) => id === ACTION)
    assert.deepEqual([undo?.id, work?.undoneBy, changesOf(undo ?? assert.fail())], [report.id, report.id, 3 * EACH - 3])
    const last = (await client.changes(end)).at(-1)?.position
    assert.deepEqual(await client.undo(ACTION, RETRY), report)
    assert.deepEqual(await client.changes(last), [])
  })
}
