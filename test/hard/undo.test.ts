import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { programFlags } from '../../scripts/repository.ts'
import { http } from '../../src/base/http.ts'
import { tempFolder } from '../support/files.ts'
import { NDJSON } from '../support/import.ts'
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

interface ListedAction {
  readonly id: string
  readonly created: number
  readonly updated: number
  readonly deleted: number
  readonly undoes?: string
  readonly undoneBy?: string
}

interface LoggedChange {
  readonly position: string
  readonly type: string
  readonly action?: string
  readonly plant?: { readonly id: number; readonly name: string }
  readonly before?: { readonly id: number; readonly name: string }
}

interface UndoReport {
  readonly restored: number
  readonly left: number
  readonly leftPlants: readonly { readonly id: number; readonly plant?: object }[]
}

/** What a client of a running service asks about actions. */
class UndoClient {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  async #ask(path: string, { headers, ...init }: RequestInit & { headers?: Record<string, string> } = {}) {
    const sent = { ...init, headers: { Authorization: `Bearer ${TOKEN}`, ...headers } }
    const answer = await fetch(`${this.#address}${path}`, sent)
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return { text, action: answer.headers.get('plantstore-action') }
  }

  /** Imports plants of these names by their ids, as a part of an action. */
  async importPlants(rows: readonly string[], { mode = 'update', action }: { mode?: string; action?: string } = {}) {
    const headers = { 'Content-Type': NDJSON, ...(action && { 'Plantstore-Action': action }) }
    const { text } = await this.#ask(`/plants/import?mode=${mode}`, { method: 'POST', headers, body: rows.join('\n') })
    assert.match(text, /"refused":0/)
  }

  async undo(id: string, headers: Record<string, string>): Promise<UndoReport & { readonly id: string }> {
    const { text, action } = await this.#ask(`/actions/${id}/undo`, { method: 'POST', headers })
    return { ...(JSON.parse(text) as UndoReport), id: action ?? assert.fail() }
  }

  /** The bytes of the export by id. */
  export = async (): Promise<string> => (await this.#ask('/plants/export?format=ndjson')).text

  actions = async (query = ''): Promise<readonly ListedAction[]> =>
    JSON.parse((await this.#ask(`/actions${query}`)).text) as ListedAction[]

  /** All changes after a position. */
  async changes(after?: string, query = ''): Promise<LoggedChange[]> {
    const all: LoggedChange[] = []
    for (let last = after; ; ) {
      const { text } = await this.#ask(`/changes?limit=1000${query}${last === undefined ? '' : `&after=${last}`}`)
      const page = JSON.parse(text) as LoggedChange[]
      all.push(...page)
      last = page.at(-1)?.position
      if (last === undefined) return all
    }
  }
}

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

/**
 * Asserts that a report names exactly the plants that others have changed before the undo came to them.
 *
 * @param from the position of the log after which others change plants
 */
async function assertLeft(client: UndoClient, report: UndoReport, [undo, undone]: readonly string[], from: string) {
  const restored = new Set<number>()
  const changed = new Set<number>()
  const seen = new Set(undone === ACTION ? Array.from({ length: PLANTS }, (_, i) => i + 1) : [])
  for (const { plant, before, action } of await client.changes(from)) {
    const id = (plant ?? before)?.id ?? 0
    if (action === undone) seen.add(id)
    else if (!seen.has(id) || restored.has(id) || changed.has(id)) continue
    else (action === undo ? restored : changed).add(id)
  }
  const left = [...changed].sort((a, b) => a - b)
  assert.ok(left.length > 0 && left.every(isChanged))
  assert.equal(restored.size, seen.size - left.length)
  assert.deepEqual([report.restored, report.left], [restored.size, left.length])
  const named = report.leftPlants.map(({ id }) => id).sort((a, b) => a - b)
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
  const client = new UndoClient(served.address)
  const others = new Others(served.address)
  const took: string[] = []
  const timed = async <T>(what: string, work: Promise<T>): Promise<T> => {
    const begin = performance.now()
    const result = await work
    took.push(`${what} ${((performance.now() - begin) / 1000).toFixed(1)} s`)
    return result
  }
  if (mode === 'update') await client.importPlants(rowsOf(1, PLANTS, 'old'))
  const before = await client.export()
  await timed('import', client.importPlants(rowsOf(1, PLANTS, 'new'), { action: ACTION }))
  const after = await client.export()
  const peak = () => (isLinux ? (served.program.memory('VmHWM') / 1e6).toFixed() : 'unknown')
  const peakOfImport = peak()

  const quiet = await timed('undo', client.undo(ACTION, { 'Plantstore-Action': 'quiet' }))
  assert.deepEqual([quiet.restored, quiet.left, await client.export()], [PLANTS, 0, before])
  const redo = await timed('redo', client.undo('quiet', { 'Plantstore-Action': 'redo' }))
  assert.deepEqual([redo.restored, redo.left, await client.export()], [PLANTS, 0, after])

  const from = (await client.changes(undefined, '&action=redo')).at(-1)?.position ?? assert.fail()
  for (const [half, what, undone, expected] of [
    [0, 'back', ACTION, before],
    [1, 'forth', 'back', after],
  ] as const) {
    await others.change(half, 0, 0.3)
    const named = { 'Plantstore-Action': what }
    const [report] = await Promise.all([timed(what, client.undo(undone, named)), others.change(half, 0.3, 1)])
    assert.equal(unchanged(await client.export()), unchanged(expected), what)
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
