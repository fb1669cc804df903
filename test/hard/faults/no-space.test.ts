import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { isIntact, tempFolder } from '../../support/files.ts'
import { fullPlants, sendRows } from '../../support/full-plants.ts'
import { Load, send } from '../../support/load.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { type Server, startServer } from '../../support/process.ts'
import { fillDisk, NO_DISK, smallDisk } from '../../support/small-disk.ts'
import { failing, hasStrace } from '../../support/strace.ts'
import { until } from '../../support/until.ts'

/** Loads the service until it lacks space, and checks that it still answers reads. */
async function fillsUp({ program, address, storePath }: Server): Promise<Load> {
  const load = new Load(address, { clients: 4, nameLength: 1000 })
  const isRefused = () => (load.refused.get(50304) ?? 0) >= 50
  await load.until(isRefused)
  assert.ok(isRefused(), `broken: ${load.broken.slice(0, 3)}; ${program.stderr}`)
  await load.stop()
  assert.deepEqual([[...load.refused.keys()], load.broken], [[50304], []])
  await reads(address, load)
  load.assertAllIn(storePath)
  return load
}

async function reads(address: string, load: Load): Promise<void> {
  const [[id] = []] = load.acknowledged
  assert.equal((await send('GET', `${address}/plants/${id}`)).status, 200)
  assert.equal((await send('GET', `${address}/plants?limit=1000`)).status, 200)
}

/** Repeats a request until its answer has this status. */
const untilStatus = (status: number, request: () => Promise<{ status: number }>, what: string): Promise<void> =>
  until(async () => (await request()).status === status, `${what} does not get ${status}`)

const create = (address: string, id: number, name: string) =>
  send('POST', `${address}/plants`, { body: JSON.stringify({ id, name }) })

/** Adds a thousand plants as large as they can be, in one import. */
const add = (address: string, from: number) => sendRows(address, fullPlants(1000, { from }))

test('a limit of the size of files is 50304, and reads go on, also after a start', async (t) => {
  const folder = tempFolder(t)
  const limited = { under: ['sh', '-c', 'ulimit -f 6000 && exec "$0" "$@"'] }
  if (!isLinux) return notTestedHere(t, 'a limit of the size of files')
  const first = await startServer(t, folder, [], limited)
  const load = await fillsUp(first)
  await first.program.kill()
  const second = await startServer(t, folder, [], limited)
  await reads(second.address, load)
  let batch = 1000
  await untilStatus(503, () => add(second.address, 1000 * batch++), 'a write that does not fit')
  await second.program.kill()
  const third = await startServer(t, folder)
  await untilStatus(200, () => add(third.address, 2_000_000), 'a write without the limit')
  load.assertAllIn(third.storePath)
  assert.ok(isIntact(third.storePath))
})

test('a quota is 50304, and reads go on', async (t) => {
  if (!hasStrace) return notTestedHere(t, 'a quota, because strace is not there or not allowed')
  const folder = tempFolder(t)
  await (await startServer(t, folder)).program.kill()
  const under = failing('pwrite64', 'error=EDQUOT:when=400+')
  const server = await startServer(t, folder, [], { under })
  const load = await fillsUp(server)
  await server.program.kill()
  const { address, storePath } = await startServer(t, folder)
  await untilStatus(200, () => create(address, -1, 'a'), 'a write without the quota')
  load.assertAllIn(storePath)
})

test('a store without space removes its search index first, and reads and small searches go on', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a store that fills a disk, ${NO_DISK}`)
  const { address, storePath } = await startServer(t, disk)
  for (let id = 0; id < 50; id++) assert.equal((await create(address, id, `fern ${id}`)).status, 200)
  const index = `${storePath}-index`
  await until(() => existsSync(index), 'there is no index')
  fillDisk(disk)
  let batch = 1
  await untilStatus(503, () => add(address, 1000 * batch++), 'a write that does not fit')
  await until(() => !existsSync(index), 'the index keeps its space')
  assert.equal((await send('GET', `${address}/plants/7`)).status, 200)
  assert.equal((await send('GET', `${address}/plants?q=fern`)).status, 200)
})
