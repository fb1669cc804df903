import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { LAST_CHUNK, NDJSON, rowsFrom } from '../../support/import.ts'
import {
  boundOf,
  MUCH,
  openImport,
  unreadExport,
  untilIdle,
  untilMomentEnds,
  untilRunning,
  withMuch,
} from '../../support/long-work.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { errorOf, SECRET } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { until } from '../../support/until.ts'

suite('exports', () => {
  test('in progress are bounded per token and in total', async (t) => {
    const service = await withMuch(t, { maxExports: '3' })
    const other = await service.issueToken(['plants:read'])
    const own = [unreadExport(service), unreadExport(service)]
    await untilRunning(service, 'export', 2)
    const third = await service.send('GET', '/plants/export')
    assert.deepEqual([errorOf(third), third.headers['retry-after']], [42901, '1'])
    const theirs = unreadExport(service, other.secret)
    await untilRunning(service, 'export', 3)
    const fourth = await service.send('GET', '/plants/export', { authorization: `Bearer ${other.secret}` })
    assert.deepEqual([errorOf(fourth), fourth.headers['retry-after']], [50302, '1'])
    own[0]?.socket.destroy()
    await untilRunning(service, 'export', 2)
    assert.equal((await service.send('GET', '/plants/export?limit=1')).status, 400)
    theirs.socket.destroy()
    own[1]?.socket.destroy()
    await untilIdle(service, 'export')
  })

  test('of hundreds of connections that read nothing stay within the bound, and end with them', async (t) => {
    if (!isLinux) return notTestedHere(t, 'what exports open, because only Linux lists it')
    const service = await withMuch(t)
    await (await service.send('GET', '/plants?q=warm')).json
    const before = await service.under.opened()
    const connections = Array.from({ length: 250 }, () => unreadExport(service))
    await untilRunning(service, 'export', 2)
    const refused = () => boundOf(service, 'max-exports', 'refused_total')
    await until(async () => (await refused()) >= 248, 'the service does not refuse 248 exports')
    // An export needs two descriptors on SQLite, for file and log, and a session on PostgreSQL.
    assert.ok((await service.under.opened()) <= before + 2 * 3)
    assert.equal((await service.create({ id: MUCH, name: 'x' })).status, 200)
    for (const { socket } of connections) socket.destroy()
    await untilIdle(service, 'export')
    await untilMomentEnds(service)
  })

  test('beyond their deadline break off and release their snapshots', async (t) => {
    const service = await withMuch(t, { exportTimeout: 300 })
    const connection = unreadExport(service)
    await untilIdle(service, 'export')
    await service.create({ id: MUCH, name: 'later' })
    await untilMomentEnds(service)
    connection.socket.resume()
    const received = (await connection.untilClosed()).toString()
    assert.ok(!received.endsWith('\r\n0\r\n\r\n'), 'the last chunk is missing')
    assert.match(service.log, /the export took longer than 0\.3 s/)
  })
})

suite('imports and dry runs', () => {
  for (const { work, path, bound } of [
    { work: 'import' as const, path: '/plants/import', bound: { maxImports: '3' } },
    { work: 'dryRun' as const, path: '/plants/import?dryRun=true', bound: { maxDryRuns: 3 } },
  ]) {
    onService(`in progress are bounded per token and in total: ${work}`, bound, async (service) => {
      const other = await service.issueToken(['plants:write'])
      const send = (secret: string) =>
        service.send('POST', path, {
          authorization: `Bearer ${secret}`,
          headers: { 'Content-Type': NDJSON },
          body: rowsFrom(1, 1),
        })
      const open = [openImport(service, SECRET, path), openImport(service, SECRET, path)]
      await untilRunning(service, work, 2)
      const third = await send(SECRET)
      assert.deepEqual([errorOf(third), third.headers['retry-after']], [42901, '1'])
      open.push(openImport(service, other.secret, path))
      await untilRunning(service, work, 3)
      const fourth = await send(other.secret)
      assert.deepEqual([errorOf(fourth), fourth.headers['retry-after']], [50302, '1'])
      open[0]?.write(LAST_CHUNK)
      await untilRunning(service, work, 2)
      assert.equal((await send(SECRET)).status, 200)
      for (const { socket } of open) socket.destroy()
      await untilIdle(service, work)
    })
  }
})
