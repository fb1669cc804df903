import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NewPlant } from '../../../src/domain/plant.ts'
import { TESTER } from '../../support/actor.ts'
import { fullPlants } from '../../support/full-plants.ts'
import { chunk, LAST_CHUNK, rowsFrom } from '../../support/import.ts'
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
import { errorOf, SECRET, withService } from '../../support/service.ts'
import { onService } from '../../support/service-tests.ts'
import { as } from '../../support/tokens.ts'
import { clearTest } from '../../support/transport.ts'
import { until } from '../../support/until.ts'

suite('exports', () => {
  clearTest('of hundreds of connections that read nothing stay within the bound, and end with them', async (t) => {
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

  clearTest('beyond their deadline break off and release their snapshots', async (t) => {
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

/** Kinds of long work, of which three may run, and two of one token. */
const KINDS = [
  { work: 'export', path: '/plants/export', bound: { maxExports: '3' } },
  { work: 'import', path: '/plants/import', bound: { maxImports: '3' } },
  { work: 'dryRun', path: '/plants/import?dryRun=true', bound: { maxDryRuns: 3 } },
] as const

for (const { work, path, bound } of KINDS) {
  clearTest(`work in progress is bounded per token and in total: ${work}`, async (t) => {
    const service = await withMuch(t, bound)
    const other = await service.issueToken(['plants:read', 'plants:write'])
    const begin = (secret: string) =>
      work === 'export' ? unreadExport(service, secret) : openImport(service, secret, path)
    const send = (secret: string) =>
      work === 'export'
        ? service.send('GET', `${path}?tag=none`, as(secret))
        : service.importFile(rowsFrom(1, 1), { ...as(secret), query: path.replace('/plants/import', '') })
    const open = [begin(SECRET), begin(SECRET)]
    await untilRunning(service, work, 2)
    const third = await send(SECRET)
    assert.deepEqual([errorOf(third), third.headers['retry-after']], [42901, '1'])
    open.push(begin(other.secret))
    await untilRunning(service, work, 3)
    const fourth = await send(other.secret)
    assert.deepEqual([errorOf(fourth), fourth.headers['retry-after']], [50302, '1'])
    if (work === 'export') open[0]?.socket.destroy()
    else open[0]?.write(LAST_CHUNK)
    await untilRunning(service, work, 2)
    assert.equal((await send(SECRET)).status, 200)
    for (const { socket } of open) socket.destroy()
    await untilIdle(service, work)
  })
}

/** No client reaches this speed, and none stalls. */
const SLOW = { stallTimeout: '1s', leastSpeed: 512 * 2 ** 20 }

suite('a client below the least speed', () => {
  onService('of an import gets 40801 with the counts so far', SLOW, async (service) => {
    const connection = openImport(service, SECRET)
    for (let row = 2; !connection.received.includes('HTTP/1.1 '); row++) {
      connection.write(chunk(rowsFrom(row, 1)))
      await sleep(50)
    }
    await connection.until(
      '"error":40801,"message":"the client sent too little for 1 s; the least speed is 536870912 bytes per second; all rows',
    )
    connection.socket.destroy()
    await untilIdle(service, 'import')
  })

  test('of an export is cut off, and its snapshot is released', async (t) => {
    const service = await withMuch(t, SLOW)
    const connection = unreadExport(service)
    await untilRunning(service, 'export', 1)
    const { socket } = connection
    socket.on('data', () => {
      socket.pause()
      setTimeout(() => socket.resume(), 20)
    })
    socket.resume()
    await untilIdle(service, 'export')
    assert.match(service.log, /the client read too little for 1 s; the least speed is 536870912 bytes per second/)
    await service.create({ id: 50_000, name: 'later' })
    await untilMomentEnds(service)
    socket.destroy()
  })
})

/** Long answers that one token asks for at once. */
const MANY = 40
const PLACES_OF_TOKEN = 4

// Others wait behind whatever has been read and not yet written, and it takes memory.
clearTest('a place is held until the answer is written, so that reads of one token do not run ahead', async (t) => {
  // On a busy machine, the last pages wait for longer than a search may.
  const service = await withService(t, { maxSearches: String(2 * PLACES_OF_TOKEN), searchTimeout: '60s' })
  await service.store.importPlants(fullPlants(1000, { unit: '"' }), 'add', TESTER)
  const { store } = service
  const read = store.listPlants.bind(store)
  let [unwritten, most] = [0, 0]
  t.mock.method(store, 'listPlants', async (...args: Parameters<typeof read>): Promise<NewPlant[]> => {
    const plants = await read(...args)
    most = Math.max(most, ++unwritten)
    let isWritten = false
    const { name: text, ...rest } = plants.at(-1) ?? assert.fail('the page is empty')
    const last = {
      ...rest,
      get name() {
        if (!isWritten) unwritten--
        isWritten = true
        return text
      },
    }
    return [...plants.slice(0, -1), last]
  })
  const answers = Array.from({ length: MANY }, () => service.send('GET', '/plants?limit=1000'))
  for (const { status, body } of await Promise.all(answers)) assert.equal(status, 200, body.slice(0, 200))
  assert.equal(unwritten, 0)
  assert.ok(most <= PLACES_OF_TOKEN, `${most} pages were read and not yet written`)
})
