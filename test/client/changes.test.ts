import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entriesOf } from '../../client/src/changes.ts'
import { type ChangeEntry, PlantstoreClient, PlantstoreUnreachable } from '../../client/src/index.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { pluck } from '../support/pluck.ts'
import { SECRET, withService } from '../support/service.ts'
import { onService } from '../support/service-tests.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'
import { settled } from '../support/until.ts'
import { all, clientOf } from './support.ts'

const BIG = 2n ** 53n + 1n

/** Lets all that is due without a timer happen. */
async function turns(): Promise<void> {
  for (let i = 0; i < 10; i++) await nextTurn()
}

/** Follows until there are so many entries. */
async function follow(entries: AsyncIterable<ChangeEntry>, count: number): Promise<ChangeEntry[]> {
  const found: ChangeEntry[] = []
  for await (const entry of entries) {
    found.push(entry)
    if (found.length === count) break
  }
  return found
}

suite('the client', () => {
  test('reads the history of a plant with exact ids', async (t) => {
    const client = clientOf(await withService(t))
    await client.createPlant({ id: BIG, name: 'a' })
    await client.replacePlant(BIG, { name: 'b', tag: 'x' })
    await client.deletePlant(BIG)
    const entries = await all(client.history(BIG, { limit: 2 }))
    assert.deepEqual(pluck(entries, 'type', 'plant', 'before'), [
      ['plant.deleted', undefined, { id: BIG, name: 'b', tag: 'x' }],
      ['plant.updated', { id: BIG, name: 'b', tag: 'x' }, { id: BIG, name: 'a' }],
      ['plant.created', { id: BIG, name: 'a' }, undefined],
    ])
    assert.deepEqual(await all(client.history(1n)), [])
    const { items, since } = await client.listDeletedPlants({ tag: ['x'] }).page()
    assert.deepEqual([items, since], [entries.slice(0, 1), entries.at(-1)?.time])
    await client.createPlant({ id: BIG, name: 'c' })
    const changed = await client.listPlants({ sort: '-changed' }).page()
    const [last] = await all(client.history(BIG, { limit: 1 }))
    assert.deepEqual([changed.items, changed.since], [[{ id: BIG, name: 'c', changed: last?.time }], since])
  })

  test('follows the changes from a position on, by tags, until its caller leaves or aborts', async (t) => {
    const client = clientOf(await withService(t))
    await client.createPlant({ id: 1n, name: 'one', tag: 'tree' })
    await client.createPlant({ id: BIG, name: 'two' })
    const [first] = await follow(client.changes(), 1)
    assert.deepEqual(first?.plant, { id: 1n, name: 'one', tag: 'tree' })
    const [second] = await follow(client.changes({ after: first?.position }), 1)
    assert.deepEqual(second?.plant, { id: BIG, name: 'two' })
    await client.updatePlant(1n, { tag: null })
    const tagged = await follow(client.changes({ tag: ['tree', 'herb'] }), 2)
    assert.deepEqual(pluck(tagged, 'type'), ['plant.created', 'plant.updated'])
    const pages = await Array.fromAsync(client.listChanges({ after: first?.position, limit: 1 }).pages())
    const shown = pages.map((page) => page.map(({ type }) => type))
    assert.deepEqual(shown, [['plant.created'], ['plant.updated'], []], 'a listing ends where the log does')
    const positions: string[] = []
    const onPosition = (position: string) => positions.push(position)
    const untagged = await follow(client.changes({ untagged: true }), 2)
    assert.deepEqual(pluck(untagged, 'type'), ['plant.created', 'plant.updated'])
    const other = client.changes({ tagPrefix: 'tr', after: first?.position, onPosition })
    assert.equal((await other.next()).value?.type, 'plant.updated')
    assert.deepEqual(positions, [first?.position])
    await Promise.all([other.next(), client.createPlant({ id: 3n, name: 'three', tag: 'tree' })])
    assert.deepEqual(positions, [first?.position, tagged[1]?.position])
    await other.return()
    const ending = new AbortController()
    const following = follow(client.changes({ after: 'now', signal: ending.signal }), 1)
    const reason = new Error('enough')
    setImmediate(() => ending.abort(reason))
    await assert.rejects(following, reason)
  })

  onService('connects again after a lost connection, and misses and repeats nothing', async (service, t) => {
    const { address } = await cuttingProxy(t, `http://127.0.0.1:${service.port}`, { received: 20_000, connections: 2 })
    const writer = clientOf(service)
    await writer.importPlants(Array.from({ length: 300 }, (_, i) => ({ id: BigInt(i), name: `plant ${i}` })))
    const entries = await follow(new PlantstoreClient({ url: address, token: SECRET }).changes(), 300)
    const shown = entries.map(({ plant }) => plant?.id)
    const expected = Array.from({ length: 300 }, (_, i) => BigInt(i))
    assert.deepEqual(shown, expected)
  })

  onService('waits for a service that is away, once it has begun', async (service, t) => {
    await clientOf(service).createPlant({ id: 1n, name: 'one' })
    const network = await tcpProxy(t, service.port)
    const url = `http://127.0.0.1:${network.port}`
    const failed = Promise.withResolvers<void>()
    const failing: typeof fetch = (...request) =>
      fetch(...request).catch((error: unknown) => {
        failed.resolve()
        throw error
      })
    const options = { url, token: SECRET, attempts: 1 }
    const entries = new PlantstoreClient({ ...options, fetch: failing }).changes()
    assert.equal((await entries.next()).value?.plant?.id, 1n)
    const later = entries.next()
    network.state = 'down'
    await assert.rejects(new PlantstoreClient(options).changes().next(), PlantstoreUnreachable)
    await settled(failed.promise, 'the client does not connect again')
    await clientOf(service).createPlant({ id: 2n, name: 'two' })
    network.state = 'passes'
    assert.equal((await later).value?.plant?.id, 2n)
    await entries.return()
  })

  test('throws when the position is of another store, or is none', async (t) => {
    const [client, other] = [clientOf(await withService(t)), clientOf(await withService(t))]
    await other.createPlant({ id: 1n, name: 'one' })
    const [entry] = await follow(other.changes(), 1)
    for (const [after, number] of [
      [entry?.position, 41001],
      ['x', 40003],
    ] as const) {
      await assert.rejects(follow(client.changes({ after }), 1), { name: 'PlantstoreError', number })
    }
  })

  test('opens another stream after its last position when one has sent nothing for 45 s', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const opened: (string | undefined)[] = []
    const plant = { id: 1, name: 'x' }
    const first = JSON.stringify({ position: 'a', type: 'plant.created', time: '', plant, token: '' })
    const open = async (after: string | undefined, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> => {
      opened.push(after)
      return new ReadableStream({
        start(stream) {
          stream.enqueue(Buffer.from(opened.length === 1 ? `id: a\ndata: ${first}\n\n` : ''))
          signal.addEventListener('abort', () => stream.error(signal.reason))
        },
      })
    }
    const leaving = new AbortController()
    const entries = entriesOf(open, { after: undefined, signal: leaving.signal })
    assert.equal((await entries.next()).value?.position, 'a')
    const next = entries.next().catch(() => {})
    await turns()
    t.mock.timers.tick(44_999)
    await turns()
    assert.deepEqual(opened, [undefined])
    t.mock.timers.tick(1)
    await turns()
    t.mock.timers.tick(60_000)
    await turns()
    assert.deepEqual(opened, [undefined, 'a'])
    leaving.abort()
    await next
  })
})
