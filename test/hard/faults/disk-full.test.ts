import assert from 'node:assert/strict'
import { appendFileSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openWriter } from '../../../src/sqlite/connection.ts'
import { errorOfFault, isFatal, sqliteFault } from '../../../src/sqlite/errors.ts'
import { createStoreFile, openingError } from '../../../src/sqlite/open/prepare-file.ts'
import { transaction } from '../../../src/sqlite/wal/transaction.ts'
import { cleanUp } from '../../support/clean-up.ts'
import { isIntact, plantsIn, tempFolder } from '../../support/files.ts'
import { fullPlants, sendRows } from '../../support/full-plants.ts'
import { beginImport, chunk, LAST_CHUNK, outcomeOf, rowsFrom } from '../../support/import.ts'
import { Load, ready, send } from '../../support/load.ts'
import { storeAt } from '../../support/open-sqlite.ts'
import { run, type Server, startServer } from '../../support/process.ts'
import { SECRET } from '../../support/service.ts'
import { diskTest, fillDisk } from '../../support/small-disk.ts'
import { until } from '../../support/until.ts'

test('a write to a full file is 50304 and rolls back its transaction, and the service continues', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  await (await storeAt(path, { serving: false })).close()
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
    assert.equal(errorOfFault(fault).number, 50304)
    assert.equal(isFatal(fault), false)
  }
  assert.equal(db.isTransaction, false)
  assert.equal(count.get()?.['count'], 0n)
  db.exec('PRAGMA max_page_count = 1000000')
  transaction(db, () => insert.run(1, 'x'.repeat(10_000)))
  assert.equal(count.get()?.['count'], 1n)
})

test('while its file cannot grow, the service refuses writes that do not fit, and recovers', async (t) => {
  const { sizeLimit, ...server } = await startServerWithSizeLimit(t, tempFolder(t))
  await assertSurvives(server, {
    fill: sizeLimit.set,
    free: sizeLimit.lift,
    isNoticed: false,
    nameLength: 1000,
  })
})

diskTest('on a full disk the service refuses writes, is not ready, and recovers', async (t, disk) => {
  const server = await startServer(t, disk)
  await assertSurvives(server, {
    fill: () => fillDisk(disk),
    free: () => rmSync(join(disk, 'ballast')),
    isNoticed: true,
    nameLength: 300,
  })
})

for (const end of ['SIGTERM', 'SIGKILL'] as const) {
  diskTest(
    `a service started on a full disk after ${end} serves reads, and writes once there is space`,
    async (t, disk) => {
      const first = await startServer(t, disk)
      const load = new Load(first.address)
      await load.reaches(500)
      await load.stop()
      first.program.signal(end)
      await first.program.outcome
      fillDisk(disk)

      let stored = 0
      // The second start uses what the first start left of the reserve.
      for (let start = 0; start < 2; start++) {
        const { program, address, storePath } = await startServer(t, disk)
        const [[id] = []] = load.acknowledged
        assert.equal((await send('GET', `${address}/plants/${id}`)).status, 200)
        assert.equal((await send('GET', `${address}/plants?limit=1000`)).status, 200)
        stored += await storedBefore50304(disk, address, start)
        load.assertAllIn(storePath)
        await program.ends()
        fillDisk(disk, `more-${start}`)
      }

      const { address, storePath } = await startServer(t, disk)
      await ready(address, 503)
      const file = join(disk, 'export.csv')
      const { stdout } = await run(t, ['export', '-', '--format', 'csv', '--store', `sqlite:${storePath}`], {
        cwd: disk,
      })
      assert.equal(stdout.split('\r\n').length - 2, load.acknowledged.size + stored, file)
      rmSync(join(disk, 'ballast'))
      const after = new Load(address, { firstId: 1_000_000n })
      await after.reaches(100)
      await after.stop()
      await ready(address, 200)
      load.assertAllIn(storePath)
      after.assertAllIn(storePath)
    },
  )
}

diskTest('a new store is whole or not there, however little space there is for it', (_t, disk) => {
  const path = join(disk, 'plants.db')
  createStoreFile(path)
  const { size } = statSync(path)
  rmSync(path)
  const step = 12 * 1024
  const refusals: string[] = []
  for (let spared = 40 * step; spared >= 0; spared -= step) {
    if (spared === 40 * step) fillDisk(disk, 'ballast', spared)
    else appendFileSync(join(disk, 'ballast'), Buffer.alloc(step))
    try {
      createStoreFile(path)
    } catch (error) {
      refusals.push((openingError(path, error) as Error).message)
    }
    const found: readonly string[] = readdirSync(disk).filter((name) => name !== 'ballast')
    assert.deepEqual(found, found.length === 0 ? [] : ['plants.db'], `${spared} bytes`)
    if (found.length > 0) assert.equal(statSync(path).size, size, `${spared} bytes`)
    rmSync(path, { force: true })
  }
  assert.ok(refusals.length > 0 && refusals.length < 40)
  for (const refusal of refusals) assert.match(refusal, /no space is left/)
})

/** Creates plants until one is refused for lack of space. The search index may free some space meanwhile. */
async function storedBefore50304(disk: string, address: string, start: number): Promise<number> {
  for (let stored = 0; ; stored++) {
    fillDisk(disk, `ballast-${start}-${stored}`)
    const answer = await sendRows(address, fullPlants(170, { from: 1_000_000 * (1 + start) + 1000 * stored }))
    if (answer.status === 200) continue
    assert.deepEqual([answer.status, ((await answer.json()) as { error: number }).error], [503, 50304])
    return stored
  }
}

diskTest('the service checkpoints a log that has filled the disk before it writes anything else', async (t, disk) => {
  const { address, storePath } = await startServer(t, disk)
  const load = new Load(address, { clients: 4, nameLength: 500 })
  await load.reaches(300)
  const { size } = statSync(storePath)
  fillDisk(disk)
  await load.until(() => (load.refused.get(50304) ?? 0) >= 20)
  await until(() => statSync(storePath).size > size, 'the log is not in the file, for which there is the reserve')
  // The log took more.
  truncateSync(join(disk, 'ballast'), statSync(join(disk, 'ballast')).size - 2 ** 20)
  await load.reaches(load.acknowledged.size + 1)
  await load.stop()
  load.assertAllIn(storePath)
})

test('the service keeps the log of a small store small', async (t) => {
  const folder = tempFolder(t)
  const { address, storePath } = await startServer(t, folder)
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  cleanUp(t, () => agent.destroy())
  let longest = 0
  for (let round = 0; round < 300; round++) {
    const puts = Array.from({ length: 8 }, (_, id) =>
      send('PUT', `${address}/plants/${id}`, { agent, body: `{"name":"version ${round} ${'x'.repeat(200)}"}` }),
    )
    await Promise.all(puts)
    longest = Math.max(longest, statSync(`${storePath}-wal`).size)
  }
  assert.ok(longest > 2 ** 20, 'there was a log to checkpoint')
  // Of the 12 MiB that are written. On a busy machine, a reader holds the restart of the log up.
  assert.ok(longest < 8 * 2 ** 20, `the log had ${longest} bytes`)
})

interface Disk {
  fill(): void
  free(): void
  /** Whether the readiness check fails too. It needs almost no space. */
  readonly isNoticed: boolean
  /** UTF-16 code units. */
  readonly nameLength: number
}

/** Checks under load that a time without space loses no acknowledged plant and needs no restart. */
async function assertSurvives({ program, address, storePath }: Server, disk: Disk): Promise<void> {
  const load = new Load(address, { clients: 8, nameLength: disk.nameLength })
  await load.reaches(50)
  disk.fill()
  const isRefused = () => (load.refused.get(50304) ?? 0) >= 50
  await load.until(isRefused)
  assert.ok(isRefused(), 'the disk was full')
  if (disk.isNoticed) {
    await ready(address, 503)
    assert.equal((await send('GET', `${address}/health/ready`)).error, 50304)
  }
  load.assertAllIn(storePath)
  const before = load.acknowledged.size
  disk.free()
  await load.reaches(before + 100)
  await ready(address, 200)
  await load.stop()
  assert.deepEqual([[...load.refused.keys()], load.broken], [[50304], []])
  assert.ok(program.isRunning)
  load.assertAllIn(storePath)
  await program.ends()
  assert.ok(isIntact(storePath))
}

/**
 * Starts a server like startServer, whose store file can get a limit at its present size, which stops writes like a full
 * disk.
 */
async function startServerWithSizeLimit(t: TestContext, folder: string, env: Record<string, string> = {}) {
  const flag = join(folder, 'size-limit')
  // Sets the maximum size of the file before each transaction: the present size while the limit is set.
  const script = `import { existsSync } from 'node:fs'
    import { DatabaseSync } from 'node:sqlite'
    const { exec } = DatabaseSync.prototype
    DatabaseSync.prototype.exec = function (sql) {
      if (sql === 'BEGIN IMMEDIATE')
        exec.call(this, 'PRAGMA max_page_count = ' + (existsSync(${JSON.stringify(flag)}) ? 1 : 1000000))
      return exec.call(this, sql)
    }`
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
  const server = await startServer(t, folder, [], { nodeArgs, env })
  return { ...server, sizeLimit: { set: () => writeFileSync(flag, ''), lift: () => rmSync(flag) } }
}

test('an import that fills the disk says how far it got, and repeating it completes it', async (t) => {
  const { address, storePath, sizeLimit } = await startServerWithSizeLimit(t, tempFolder(t), {
    PLANTSTORE_TOKEN: SECRET,
  })
  const port = Number(new URL(address).port)
  const connection = beginImport({ port }, rowsFrom(1, 100), 'Connection: close')
  const last = () => send('GET', `${address}/plants/100`, { token: SECRET })
  await until(async () => (await last()).status === 200, 'the import stores nothing')
  sizeLimit.set()
  // More rows than fit into free pages of the file.
  connection.write(chunk(rowsFrom(101, 5000)) + LAST_CHUNK)
  const { status, error, message } = await outcomeOf(connection)
  assert.deepEqual([status, error], [503, 50304])
  const [, line] = /^the store has no space left; all rows up to line (\d+) were processed /.exec(message ?? '') ?? []
  assert.equal(plantsIn(storePath).size, Number(line))
  sizeLimit.lift()
  const again = beginImport({ port }, rowsFrom(1, 5100), 'Connection: close')
  again.write(LAST_CHUNK)
  const { added, unchanged } = await outcomeOf(again)
  assert.deepEqual([added, unchanged], [5100 - Number(line), Number(line)])
  assert.equal(plantsIn(storePath).size, 5100)
})
