import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openWriter, transaction } from '../../src/sqlite/connection.ts'
import { appErrorOf, isFatal, sqliteFault } from '../../src/sqlite/errors.ts'
import { SqliteStore } from '../../src/sqlite/store.ts'
import { cleanUp } from '../support/clean-up.ts'
import { isIntact, snapshot, tempFolder } from '../support/files.ts'
import { startServerWithLid } from '../support/lid.ts'
import { Load, send } from '../support/load.ts'
import { notTestedHere } from '../support/not-tested.ts'
import { run, type Server, startServer } from '../support/process.ts'
import { fillDisk, NO_DISK, smallDisk } from '../support/small-disk.ts'

test('a full file is 50304, undoes the whole transaction, and is no reason to end', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  await (await SqliteStore.open(path, { serving: false, create: true, maxWaiting: 1, onFatal: () => {} })).close()
  const db = openWriter(path)
  cleanUp(t, () => db.close())
  const insert = db.prepare('INSERT INTO plants (id, name) VALUES (?, ?)')
  const count = db.prepare('SELECT count(*) AS count FROM plants')
  db.exec('PRAGMA max_page_count = 1')
  try {
    transaction(db, () => {
      for (let id = 0; id < 100; id++) insert.run(id, 'x'.repeat(1000))
    })
    assert.fail('it took more than there is room for')
  } catch (error) {
    const fault = sqliteFault(error)
    assert.ok(fault, String(error))
    assert.equal(appErrorOf(fault).number, 50304)
    assert.equal(isFatal(fault), false)
  }
  assert.equal(db.isTransaction, false)
  assert.equal(count.get()?.['count'], 0n)
  db.exec('PRAGMA max_page_count = 1000000')
  transaction(db, () => insert.run(1, 'x'.repeat(10_000)))
  assert.equal(count.get()?.['count'], 1n)
})

test('served from a file that can not grow, it refuses what does not fit and goes on when it can', async (t) => {
  const { lid, ...server } = await startServerWithLid(t, tempFolder(t))
  await assertSurvives(server, {
    fill: lid.close,
    free: lid.open,
    isNoticed: false,
    nameLength: 3000,
  })
})

test('on a disk that is full it refuses, says that it is not ready, and goes on when there is space', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a disk that fills up, ${NO_DISK}`)
  const server = await startServer(t, disk)
  await assertSurvives(server, {
    fill: () => fillDisk(disk),
    free: () => rmSync(join(disk, 'ballast')),
    isNoticed: true,
    nameLength: 300,
  })
})

test('on a disk that is full it does not start, says why in one line, and leaves the store alone', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return notTestedHere(t, `a start on a disk that is full, ${NO_DISK}`)
  const { program, storePath } = await startServer(t, disk)
  program.signal('SIGTERM')
  await program.outcome
  fillDisk(disk)
  const before = snapshot(disk)
  const { code, stdout, stderr } = await run(t, ['serve', '--port', '0', '--store', `sqlite:${storePath}`])
  assert.match(stderr, /^plantstore: store \S+: database or disk is full .*\n$/)
  assert.deepEqual([code, stdout], [1, ''])
  assert.deepEqual(snapshot(disk), before)
})

interface Disk {
  fill(): void
  free(): void
  /** Whether the readiness check, which needs almost no space, finds none. */
  readonly isNoticed: boolean
  /** UTF-16 units. */
  readonly nameLength: number
}

/** Load before, during and after a time without space: nothing acknowledged is lost and no restart is needed. */
async function assertSurvives({ program, address, storePath }: Server, disk: Disk): Promise<void> {
  const load = new Load(address, { clients: 8, nameLength: disk.nameLength })
  await load.reaches(50)
  disk.fill()
  const isRefused = () => (load.refused.get(50304) ?? 0) >= 50
  await load.until(isRefused)
  assert.ok(isRefused(), 'it was full')
  if (disk.isNoticed) await readiness(address, 503)
  load.assertAllIn(storePath)
  const before = load.acknowledged.size
  disk.free()
  await load.reaches(before + 100)
  await readiness(address, 200)
  await load.stop()
  assert.deepEqual([[...load.refused.keys()], load.broken], [[50304], []])
  assert.ok(program.isRunning)
  load.assertAllIn(storePath)
  program.signal('SIGTERM')
  assert.equal((await program.outcome).code, 0)
  assert.ok(isIntact(storePath))
}

/** The outcome of a check is used for a second, so it is asked until it has changed. */
async function readiness(address: string, status: number): Promise<void> {
  for (;;) {
    const answer = await send('GET', `${address}/health/ready`)
    if (answer.status === status) {
      assert.equal(answer.error, status === 503 ? 50304 : undefined)
      return
    }
    await sleep(50)
  }
}
