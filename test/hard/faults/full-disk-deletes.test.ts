import assert from 'node:assert/strict'
import { existsSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createIndexFile, IndexFault } from '../../../src/sqlite/search-index/index-file.ts'
import { isIntact, plantsIn } from '../../support/files.ts'
import { send } from '../../support/load.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { type Server, startServer } from '../../support/process.ts'
import { fillDisk, NO_DISK, smallDisk } from '../../support/small-disk.ts'
import { until } from '../../support/until.ts'

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

const create = (address: string, id: number) =>
  send('POST', `${address}/plants`, { body: JSON.stringify({ id, name: nameOf(id) }) })

test('a store that fills its disk gives the space of its index, then takes deletes, and creates again after them', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a store that fills a disk, ${NO_DISK}`)
  fillDisk(disk, 'ballast', SPACE)
  // A log that is kept for clients has the deleted plants, so that a delete frees nothing before the log is trimmed.
  const server = await startServer(t, disk, ['--changes-keep', '0s'])
  const { stored } = await load(server, 0, ({ refused }) => refused >= REFUSALS)
  await assertRecovers(server, stored)
})

test('an index without space for its making leaves no file open, which would keep that space', (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a disk without space for an index, ${NO_DISK}`)
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

test('a store whose disk another program has filled is read, and writes again once there is space', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a disk that another program fills, ${NO_DISK}`)
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
})

interface Progress {
  /** The id of the next create. */
  next: number
  /** The ids of the stored plants. */
  readonly stored: Set<number>
  /** Creates that the store has refused, one after the other, without an index. */
  refused: number
}

/** Creates plants, with ids from `next` on. Each is stored, or gets 50304. */
async function load({ address, storePath }: Server, next: number, isDone: (progress: Progress) => boolean) {
  const progress: Progress = { next, stored: new Set(), refused: 0 }
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
