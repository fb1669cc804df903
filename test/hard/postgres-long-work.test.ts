import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { engine } from '../support/engine-under-test.ts'
import { NDJSON, rowsFrom } from '../support/import.ts'
import { boundOf, openImport, unreadExport, untilIdle, untilRunning, withMuch } from '../support/long-work.ts'
import { errorOf, messageOf, SECRET, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

engine.current = 'postgres'

/** Reads the metrics of the connections for one kind of work. */
async function connectionsOf(service: Service, work: string): Promise<{ taken: number; limit: number }> {
  const { body } = await service.send('GET', '/metrics')
  const read = (name: string) =>
    Number(new RegExp(`^${name}{work="${work}"} (\\d+)$`, 'm').exec(body)?.[1] ?? assert.fail(body))
  return { taken: read('plantstore_store_connections'), limit: read('plantstore_store_connections_limit') }
}

suite('PostgreSQL: exports and dry runs', () => {
  test('beyond their share of connections are refused within the time of the store', async (t) => {
    const service = await withMuch(t, { storeTimeout: '2s' })
    const other = await service.issueToken(['plants:read', 'plants:write'])
    assert.deepEqual(await connectionsOf(service, 'long'), { taken: 0, limit: 3 })
    const open = [unreadExport(service), unreadExport(service, other.secret)]
    await untilRunning(service, 'export', 2)
    const dryRun = openImport(service, SECRET, '/plants/import?dryRun=true')
    await untilRunning(service, 'dryRun', 1)
    assert.deepEqual(await connectionsOf(service, 'long'), { taken: 3, limit: 3 })
    const fourth = await Promise.all([
      service.send('GET', '/plants/export'),
      service.send('POST', '/plants/import?dryRun=true', { headers: { 'Content-Type': NDJSON }, body: rowsFrom(1, 1) }),
    ])
    for (const answer of fourth) {
      assert.deepEqual([errorOf(answer), answer.headers['retry-after']], [50302, '1'])
      assert.match(messageOf(answer), /^too many exports and dry runs are under way; nothing was done/)
    }
    assert.equal((await service.create({ id: 50_000, name: 'x' })).status, 200)
    for (const { socket } of [...open, dryRun]) socket.destroy()
    await untilIdle(service, 'export')
    await untilIdle(service, 'dryRun')
    assert.equal((await service.send('GET', '/plants/export?tag=none')).status, 200)
  })

  test('get a third of the configured number of connections', async (t) => {
    const service = await withMuch(t, { storeConnections: '4' })
    assert.equal((await connectionsOf(service, 'long')).limit, 1)
    assert.equal((await connectionsOf(service, 'search')).limit, 1)
    assert.deepEqual((await connectionsOf(service, 'all')).limit, 4)
    const only = unreadExport(service)
    await untilRunning(service, 'export', 1)
    const next = service.send('GET', '/plants/export?tag=none')
    await untilRunning(service, 'export', 2)
    only.socket.destroy()
    assert.equal((await next).status, 200, 'an export waits for the one before it')
    await untilIdle(service, 'export')
  })
})

test('PostgreSQL: many short pages of one token hold up no search of another', async (t) => {
  const service = await withMuch(t)
  const other = await service.issueToken(['plants:read'])
  const unlock = await service.under.lock()
  let answered = 0
  const pages = Array.from({ length: 200 }, async () => {
    const { status } = await service.send('GET', '/plants')
    answered++
    return status
  })
  const connections = () => boundOf(service, 'max-connections')
  await until(async () => (await connections()) > 200, 'the pages have not come')
  const search = service.send('GET', '/plants?q=none', { authorization: `Bearer ${other.secret}` })
  await until(async () => (await connections()) > 201, 'the search has not come')
  await unlock()
  assert.equal((await search).status, 200)
  assert.ok(answered < 100, `${answered} pages were answered before it`)
  assert.deepEqual(new Set(await Promise.all(pages)), new Set([200]))
})
