import assert from 'node:assert/strict'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type ImportOptions, PlantstoreClient, type UndoReport } from '../../client/src/index.ts'
import { programFlags } from '../../scripts/repository.ts'
import { http } from '../../src/base/http.ts'
import { newPlantJson } from '../../src/domain/plant.ts'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux } from '../support/not-tested.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { type Served, serveStore, TOKEN } from '../support/process.ts'
import { until } from '../support/until.ts'

/** New stores of both engines, by their addresses. */
const STORES: readonly (readonly [string, (t: TestContext) => Promise<string>])[] = [
  ['SQLite', async (t) => `sqlite:${join(tempFolder(t), 'plants.db')}`],
  ['PostgreSQL', (t) => newDatabase(t)],
]

/** A client that tries each request once, as a kill is to break it. */
const clientOf = ({ address }: Served) => new PlantstoreClient({ url: address, token: TOKEN, attempts: 1 })

/** Imports rows as a part of an action. */
async function importRows(client: PlantstoreClient, rows: readonly string[], options: ImportOptions = {}) {
  assert.equal((await client.importPlants(rows.join('\n'), { mode: 'update', ...options })).refused, 0)
}

/** The bytes of the export by id. */
const exportOf = async (client: PlantstoreClient) => text(await client.exportFile({ format: 'ndjson' }))

/** All changes after a position, or of an action. */
const changesOf = (client: PlantstoreClient, query: { after?: string; action?: string } = {}) =>
  Array.fromAsync(client.listChanges({ ...query, limit: 1000 }))

/** The newest actions. */
const actionsOf = async (client: PlantstoreClient) => (await client.listActions().page()).items

/** Rows of an import with ids from one on. */
const rowsOf = (first: number, count: number, name: string): string[] =>
  Array.from({ length: count }, (_, i) => `{"id":${first + i},"name":"${name} ${first + i}"}`)

/** Plants of the action. PLANTSTORE_TEST_UNDO=100000 takes minutes (docs/decisions/0057-actions.md). */
const PLANTS = Number(process.env['PLANTSTORE_TEST_UNDO'] ?? 2500)
const CONNECTIONS = 64
const ACTION = 'work'

const isChanged = (id: number): boolean => id % 10 === 0

/** Changes every tenth plant, half of them beside each of two undos, each connection one plant after the other. */
class Others {
  readonly #address: string
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })

  constructor(address: string) {
    this.#address = address
  }

  /** Changes plants of a half, from one share of it to another. */
  async change(half: 0 | 1, from: number, to: number): Promise<void> {
    const ids = Array.from({ length: PLANTS / 20 }, (_, i) => 20 * i + 10 * (half + 1))
    const some = ids.slice(Math.floor(from * ids.length), Math.floor(to * ids.length))
    await Promise.all(
      Array.from({ length: CONNECTIONS }, async (_, connection) => {
        for (let i = connection; i < some.length; i += CONNECTIONS) {
          const path = `${this.#address}/plants/${some[i]}`
          const { status } = await send('PUT', path, { agent: this.#agent, body: '{"name":"else"}' })
          assert.ok(status === 200 || status === 201)
        }
      }),
    )
  }

  close(): void {
    this.#agent.destroy()
  }
}

const idsLeft = ({ leftPlants }: UndoReport) => leftPlants.map(({ id }) => Number(id)).sort((a, b) => a - b)

/**
 * Asserts that a report names exactly the plants that others have changed before the undo came to them.
 *
 * @param from the position of the log after which others change plants
 */
async function assertLeft(
  client: PlantstoreClient,
  report: UndoReport,
  [undo, undone]: readonly string[],
  from: string,
) {
  const restored = new Set<number>()
  const changed = new Set<number>()
  const seen = new Set(undone === ACTION ? Array.from({ length: PLANTS }, (_, i) => i + 1) : [])
  for (const { plant, before, action } of await changesOf(client, { after: from })) {
    const id = Number((plant ?? before)?.id)
    if (action === undone) seen.add(id)
    else if (!seen.has(id) || restored.has(id) || changed.has(id)) continue
    else (action === undo ? restored : changed).add(id)
  }
  const left = [...changed].sort((a, b) => a - b)
  assert.ok(left.length > 0 && left.every(isChanged))
  assert.equal(restored.size, seen.size - left.length)
  assert.deepEqual([report.restored, report.left], [restored.size, left.length])
  const named = idsLeft(report)
  if (left.length <= 1000) assert.deepEqual(named, left)
  else assert.ok(named.length === 1000 && named.every((id) => changed.has(id)))
}

/** The rows of an export that others leave alone. */
const unchanged = (rows: string): string =>
  rows
    .split('\n')
    .filter((row) => row === '' || !isChanged(JSON.parse(row).id))
    .join('\n')

async function undoBeside(t: TestContext, address: string, mode: 'update' | 'add'): Promise<void> {
  const served = await serveStore(t, address, [], { nodeArgs: programFlags() })
  const client = clientOf(served)
  const others = new Others(served.address)
  const took: string[] = []
  const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const begin = performance.now()
    const result = await work
    took.push(`${what} ${((performance.now() - begin) / 1000).toFixed(1)} s`)
    return result
  }
  if (mode === 'update') await importRows(client, rowsOf(1, PLANTS, 'old'))
  const before = await exportOf(client)
  await timed('import', importRows(client, rowsOf(1, PLANTS, 'new'), { action: ACTION }))
  const after = await exportOf(client)
  const peak = () => (isLinux ? (served.program.memory('VmHWM') / 1e6).toFixed() : 'unknown')
  const peakOfImport = peak()

  const quiet = await timed('undo', client.undoAction(ACTION, { action: 'quiet' }))
  assert.deepEqual([quiet.restored, quiet.left, await exportOf(client)], [PLANTS, 0, before])
  const redo = await timed('redo', client.undoAction('quiet', { action: 'redo' }))
  assert.deepEqual([redo.restored, redo.left, await exportOf(client)], [PLANTS, 0, after])

  const from = (await changesOf(client, { action: 'redo' })).at(-1)?.position ?? assert.fail()
  for (const [half, what, undone, expected] of [
    [0, 'back', ACTION, before],
    [1, 'forth', 'back', after],
  ] as const) {
    await others.change(half, 0, 0.3)
    const [report] = await Promise.all([
      timed(what, client.undoAction(undone, { action: what })),
      others.change(half, 0.3, 1),
    ])
    assert.equal(unchanged(await exportOf(client)), unchanged(expected), what)
    await assertLeft(client, report, [what, undone], from)
  }
  others.close()
  t.diagnostic(`${took.join(', ')}; ${peakOfImport} MB after the import, ${peak()} MB at the end`)
}

for (const [engine, newStore] of STORES) {
  for (const mode of ['update', 'add'] as const) {
    const what = mode === 'add' ? 'new plants' : 'changed plants'
    test(`${engine}: an import of ${what} is undone and redone but for those that others change beside it`, async (t) => {
      await undoBeside(t, await newStore(t), mode)
    })
  }
}

/** Plants that the action creates, changes and deletes; some steps each. */
const EACH = 1800
/** The name by which a repeated undo goes on. */
const UNDO = { action: 'back' }

const sizeOf = ({ created, updated, deleted }: { created: number; updated: number; deleted: number }): number =>
  created + updated + deleted

/** Makes the action, and what others change after it. @returns the export that the undo is to come back to */
async function prepare(client: PlantstoreClient): Promise<string> {
  await importRows(client, rowsOf(1, 2 * EACH, 'old'))
  const before = (await exportOf(client)).trimEnd().split('\n')
  await importRows(client, rowsOf(1, EACH, 'new'), { action: ACTION })
  await importRows(client, rowsOf(EACH + 1, EACH, 'old'), { mode: 'delete', action: ACTION })
  await importRows(client, rowsOf(2 * EACH + 1, EACH, 'new'), { action: ACTION })
  const others = [rowsOf(7, 1, 'else'), rowsOf(EACH + 7, 1, 'else'), rowsOf(2 * EACH + 7, 1, 'else')].flat()
  await importRows(client, others)
  const after = before.map((row, i) => (i === 6 || i === EACH + 6 ? (others[Math.floor(i / EACH)] ?? row) : row))
  return `${[...after, others[2]].join('\n')}\n`
}

/** Asserts that the log names each change of the undo, and that the plants are what the log says. */
async function assertNamed(client: PlantstoreClient, end: string, start: string): Promise<void> {
  const changes = await changesOf(client, { after: end })
  const [undo] = await actionsOf(client)
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
  assert.equal((await changesOf(client, { action: undo.id })).length, changes.length)
  const plants = new Map(
    start
      .trimEnd()
      .split('\n')
      .map((row): [number, string] => [JSON.parse(row).id, row]),
  )
  for (const { plant, before } of changes) {
    if (plant === undefined) plants.delete(Number(before?.id))
    else plants.set(Number(plant.id), newPlantJson({ id: plant.id, name: plant.name, tag: undefined }))
  }
  const rows = [...plants].sort(([a], [b]) => a - b).map(([, row]) => row)
  assert.equal(await exportOf(client), `${rows.join('\n')}\n`)
}

/** Kills the service, and waits until no statement of it is under way in the database. */
async function kill({ program }: Served, address: string): Promise<void> {
  await program.kill()
  if (address.startsWith('sqlite:')) return
  const own = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'plantstore'`
  await until(async () => (await query(address, `SELECT ${own}`)).length === 0, 'the database keeps the connections')
}

for (const [engine, newStore] of STORES) {
  test(`${engine}: an undo that kills interrupt goes on by its name to the state of an undisturbed one`, async (t) => {
    const address = await newStore(t)
    let served = await serveStore(t, address)
    let client = clientOf(served)
    const expected = await prepare(client)
    const start = await exportOf(client)
    const end = (await changesOf(client)).at(-1)?.position ?? assert.fail()
    let kills = 0
    for (const share of [0.01, 0.4]) {
      const broken = client.undoAction(ACTION, UNDO).catch(() => 'broken')
      await until(async () => {
        const [newest] = await actionsOf(client)
        return newest?.undoes === ACTION && sizeOf(newest) >= share * 3 * EACH
      }, 'the undo does not begin')
      await kill(served, address)
      // On a quick machine the last steps may have ended before.
      if ((await broken) === 'broken') kills++
      served = await serveStore(t, address)
      client = clientOf(served)
      await assertNamed(client, end, start)
    }
    assert.ok(kills > 0, 'no kill interrupts the undo')
    const report = await client.undoAction(ACTION, UNDO)
    assert.deepEqual([report.restored, report.left], [3 * EACH - 3, 3])
    assert.deepEqual(idsLeft(report), [7, EACH + 7, 2 * EACH + 7])
    await assertNamed(client, end, start)
    assert.equal(await exportOf(client), expected)
    const [undo = assert.fail(), ...others] = await actionsOf(client)
    const work = others.find(({ id }) => id === ACTION)
    assert.deepEqual([undo.id, work?.undoneBy, sizeOf(undo)], [UNDO.action, UNDO.action, 3 * EACH - 3])
    const after = (await changesOf(client, { after: end })).at(-1)?.position ?? assert.fail()
    assert.deepEqual(await client.undoAction(ACTION, UNDO), report)
    assert.deepEqual(await changesOf(client, { after }), [])
  })
}
