import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withStore } from '../../../src/cli/open-store.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { createIndexFile, IndexFault } from '../../../src/sqlite/search-index/index-file.ts'
import { TESTER } from '../../support/actor.ts'
import { isIntact, plantsIn, tempFolder } from '../../support/files.ts'
import { fullPlants, sendRows } from '../../support/full-plants.ts'
import { Load, send } from '../../support/load.ts'
import { isLinux, notTestedHere } from '../../support/not-tested.ts'
import { run, type Server, startServer } from '../../support/process.ts'
import { diskTest, fillDisk } from '../../support/small-disk.ts'
import { plant } from '../../support/store-under-test.ts'
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

const create = (address: string, id: number, name = nameOf(id)) =>
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

diskTest(
  'a store without space removes its search index first, and reads and small searches go on',
  async (t, disk) => {
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
  },
)

/** Bytes that the store and its index get. The rest of the disk is taken from the start. */
const SPACE = 20 * 2 ** 20
/** Creates at once. Each has 120 words, so that the index takes more than the plants. */
const CLIENTS = 8
/** Creates before another program fills the disk. */
const BEFORE = 1000
/** Refused creates without an index, after which the disk counts as full. */
const REFUSALS = 100
/** Deletes that must succeed on the full disk, one after the other. */
const DELETES = 200

const nameOf = (id: number): string =>
  Array.from({ length: 120 }, (_, i) => `w${(id * 120 + i).toString(36)}`).join(' ')

diskTest(
  'a store that fills its disk gives the space of its index, then takes deletes, and creates again after them',
  async (t, disk) => {
    fillDisk(disk, 'ballast', SPACE)
    // A log that is kept for clients has the deleted plants, so that a delete frees nothing before the log is trimmed.
    const server = await startServer(t, disk, ['--changes-keep', '0s'])
    const { stored } = await load(server, 0, ({ refused }) => refused >= REFUSALS)
    await assertRecovers(server, stored)
  },
)

diskTest('an index without space for its making leaves no file open, which would keep that space', (_t, disk) => {
  fillDisk(disk, 'ballast', 2 ** 15)
  const path = join(disk, 'plants.db-index')
  const state = { position: 0, mark: '', isScanning: false, scannedTo: undefined, scanned: 0, plants: 0, entries: 0 }
  assert.throws(() => createIndexFile(path, new Uint8Array(16), state), IndexFault)
  // The descriptor that reads the folder is closed by then.
  const descriptors = readdirSync('/proc/self/fd').map((name) => `/proc/self/fd/${name}`)
  const open = descriptors.filter((file) => existsSync(file)).map((file) => readlinkSync(file))
  const found = open.filter((file) => file.startsWith(disk))
  assert.deepEqual(found, [])
})

diskTest(
  'a store whose disk another program has filled is read, and writes again once there is space',
  async (t, disk) => {
    fillDisk(disk, 'ballast', SPACE)
    const server = await startServer(t, disk)
    const before = await load(server, 0, ({ stored }) => stored.size >= BEFORE)
    fillDisk(disk, 'of-another')
    const { stored } = await load(server, before.next, ({ refused }) => refused >= REFUSALS)
    const all = stored.union(before.stored)
    // The other program may have taken the reserve too, so that not even a delete has space.
    for (const id of [...all].slice(0, DELETES)) {
      const { status, error } = await send('DELETE', `${server.address}/plants/${id}`)
      if (status === 204) all.delete(id)
      else assert.deepEqual([status, error], [503, 50304])
    }
    rmSync(join(disk, 'ballast'))
    const isReady = async () => (await send('GET', `${server.address}/health/ready`)).status === 200
    await until(isReady, 'it is not ready with space')
    await assertRecovers(server, all)
  },
)

/**
 * Creates plants, with ids from `next` on. Each is stored, or gets 50304.
 *
 * @param isDone asked after each answer; `refused` are creates one after the other that the store refuses without an index
 */
async function load(
  { address, storePath }: Server,
  next: number,
  isDone: (progress: { readonly stored: ReadonlySet<number>; readonly refused: number }) => boolean,
) {
  const progress = { next, stored: new Set<number>(), refused: 0 }
  const client = async () => {
    while (!isDone(progress)) {
      const id = progress.next++
      const { status, error } = await create(address, id)
      if (status === 200) {
        progress.stored.add(id)
        progress.refused = 0
        continue
      }
      assert.deepEqual([status, error], [503, 50304])
      if (!existsSync(`${storePath}-index`)) progress.refused++
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return progress
}

async function assertRecovers({ program, address, storePath }: Server, stored: Set<number>): Promise<void> {
  for (const id of [...stored].slice(0, DELETES)) {
    assert.equal((await send('GET', `${address}/plants/${id}`)).status, 200)
    const remove = () => send('DELETE', `${address}/plants/${id}`)
    await until(async () => (await remove()).status === 204, `the delete of ${id} is refused`)
    stored.delete(id)
  }
  for (let id = 1_000_000; id < 1_000_000 + DELETES / 2; id++) {
    await until(async () => (await create(address, id)).status === 200, `the create of ${id} is refused`)
    stored.add(id)
  }
  assert.ok(program.isRunning, program.stderr)
  assert.deepEqual(new Set([...plantsIn(storePath).keys()].map(Number)), stored)
  assert.ok(isIntact(storePath))
}

diskTest('a copy to a full disk says so and leaves an intact store, and repeating it completes it', async (t, disk) => {
  const [from, to] = [join(tempFolder(t), 'plants.db'), join(disk, 'plants.db')]
  const source = readConfig({ store: `sqlite:${from}` }, {}).store
  const plants = Array.from({ length: 3000 }, (_, i) => plant(BigInt(i), 'x'.repeat(1000)))
  await withStore(source, { create: true, quiet: true }, (store) => store.importPlants(plants, 'add', TESTER))
  const copy = () => run(t, ['copy', '--from', `sqlite:${from}`, '--to', `sqlite:${to}`])
  // Creates the target store first, then leaves half of the space that the copy needs.
  assert.equal((await run(t, ['token', 'create', '--name', 'x', '--store', `sqlite:${to}`])).code, 0)
  fillDisk(disk, 'ballast', 3 * 2 ** 20)
  const full = await copy()
  assert.match(full.stderr, /^plantstore: the store has no space left/m)
  assert.match(full.stderr, /^Run the same command again to continue/m)
  assert.equal(full.code, 1)
  const there = plantsIn(to).size
  assert.ok(there < plants.length, String(there))
  rmSync(join(disk, 'ballast'))
  const again = await copy()
  assert.equal(again.code, 0, again.stderr)
  assert.match(again.stderr, new RegExp(`^done: ${(plants.length - there).toLocaleString('en')} plants added, `, 'm'))
  assert.equal(plantsIn(to).size, plants.length)
})
