import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engine } from '../support/engine-under-test.ts'
import { boundOf, unreadExport, untilIdle, untilRunning, withMuch } from '../support/long-work.ts'
import { until } from '../support/until.ts'

engine.current = 'postgres'

test('PostgreSQL: exports and dry runs get a third of the configured number of connections', async (t) => {
  const service = await withMuch(t, { storeConnections: '4' })
  const showConnections = async (...lines: readonly string[]) => {
    const { body } = await service.send('GET', '/metrics')
    for (const line of lines) assert.ok(body.includes(`\nplantstore_store_connections${line}\n`), body)
  }
  await showConnections('_limit{work="long"} 1', '_limit{work="search"} 1', '_limit{work="all"} 4', '{work="long"} 0')
  const only = unreadExport(service)
  await untilRunning(service, 'export', 1)
  const next = service.send('GET', '/plants/export?tag=none')
  await untilRunning(service, 'export', 2)
  await showConnections('{work="long"} 1')
  only.socket.destroy()
  assert.equal((await next).status, 200, 'an export waits for the one before it')
  await untilIdle(service, 'export')
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
