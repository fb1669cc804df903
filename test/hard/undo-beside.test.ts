import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { programFlags } from '../../scripts/repository.ts'
import { http } from '../../src/base/http.ts'
import { send } from '../support/load.ts'
import { isLinux } from '../support/not-tested.ts'
import { type Program, serveStore } from '../support/process.ts'
import { rowsOf, STORES, UndoClient, type UndoReport } from '../support/undo-service.ts'

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

/** The peak of the memory of the service in MB. */
function peakOf({ child }: Program): string {
  if (!isLinux) return 'unknown'
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  return (Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1000).toFixed()
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
  const peak = peakOf(served.program)

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
  t.diagnostic(`${took.join(', ')}; ${peak} MB after the import, ${peakOf(served.program)} MB at the end`)
}

for (const [engine, newStore] of STORES) {
  for (const mode of ['update', 'add'] as const) {
    const what = mode === 'add' ? 'new plants' : 'changed plants'
    test(`${engine}: an import of ${what} is undone and redone but for those that others change beside it`, async (t) => {
      await undoBeside(t, await newStore(t), mode)
    })
  }
}
