import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openWriter } from '../src/sqlite/connection.ts'
import { makeBackup, restoreBackup } from '../src/sqlite/upkeep/backup.ts'
import { checkStore } from '../src/sqlite/upkeep/check.ts'
import { advanceEpoch } from '../src/sqlite/wal/epoch.ts'
import { transaction } from '../src/sqlite/wal/transaction.ts'
import { judgeWal } from '../src/sqlite/wal/wal-ownership.ts'
import { SqliteWriter } from '../src/sqlite/write/writer.ts'
import type { Scene } from './support/clean-up.ts'
import { copyAsAfterCrash, isIntact, plantsIn, tempFolder } from './support/files.ts'
import { fullPlants } from './support/full-plants.ts'
import { Load } from './support/load.ts'
import { openSqlite, storeAt } from './support/open-sqlite.ts'
import { run, startServer } from './support/process.ts'
import { importAll } from './support/store-calls.ts'
import { plant } from './support/store-under-test.ts'
import { wholeFile } from './support/whole-file.ts'

const PAGE = 4096
const HEADER = 32
const FRAME = PAGE + 24

/** The files of a store after a crash, with 12 commits in the log and a file that a checkpoint has marked. */
let crashed: Promise<string> | undefined
async function crash(t: Scene): Promise<string> {
  const { path, store } = await openSqlite(t)
  for (let i = 0; i < 12; i++) await importAll(store, [plant(BigInt(i), `plant ${i}`)])
  const copy = join(tempFolder(t), 'plants.db')
  copyAsAfterCrash(path, copy)
  return copy
}

/** A copy of them for one test. */
async function crashedStore(t: Scene): Promise<string> {
  crashed ??= crash(wholeFile)
  const path = join(tempFolder(t), 'plants.db')
  copyAsAfterCrash(await crashed, path)
  return path
}

const flip = (file: string, at: number): void => {
  const bytes = readFileSync(file)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 4, at)
  writeFileSync(file, bytes)
}

/** The offset of the frame in a log that has the plant, the first time. */
function frameWith(log: string, text: string): number {
  const at = readFileSync(log).indexOf(text)
  assert.ok(at > 0, `the log does not have ${text}`)
  return HEADER + Math.floor((at - HEADER) / FRAME) * FRAME
}

const refusedAs = async (path: string, why: RegExp): Promise<void> => {
  const before = readFileSync(path)
  for (const work of [() => checkStore(path), () => storeAt(path)]) {
    await assert.rejects(work, (error) => why.test((error as Error).message) && /--drop-damaged/.test(String(error)))
  }
  assert.deepEqual(readFileSync(path), before, 'a refused store stays as it is')
}

test('a bit that flipped anywhere in a log, but in its last commit, stops the start', async (t) => {
  const path = await crashedStore(t)
  const log = `${path}-wal`
  const whole = readFileSync(log)
  const end = frameWith(log, 'plant 10')
  for (let i = 0; i < 60; i++) {
    const at = i < 8 ? 4 * i : HEADER + Math.floor(((i - 8) / 52) * (end - HEADER))
    writeFileSync(log, whole)
    flip(log, at)
    assert.equal(judgeWal(path), 'damaged', `a bit of byte ${at}`)
  }
  writeFileSync(log, whole)
  assert.equal(judgeWal(path), 'own')
  flip(log, 100)
  await refusedAs(path, /its log \S+plants\.db-wal is damaged/)
})

test('the end of a log that a power cut tore stops no start', async (t) => {
  const path = await crashedStore(t)
  const whole = readFileSync(`${path}-wal`)
  for (let frame = 1; HEADER + frame * FRAME < whole.length; frame++) {
    const torn = Buffer.from(whole)
    // The disk has parts of the frames of one commit, and nothing behind it.
    torn.fill(0x5a, HEADER + frame * FRAME + 512 * (frame % 8), HEADER + (frame + 1) * FRAME)
    writeFileSync(`${path}-wal`, torn.subarray(0, HEADER + (frame + 1) * FRAME))
    assert.equal(judgeWal(path), 'own', `${frame} frames are whole`)
  }
})

test('check --drop-damaged lets a store go on, names each change that is gone, and keeps the damaged log', async (t) => {
  const path = await crashedStore(t)
  const log = `${path}-wal`
  flip(log, frameWith(log, 'plant 8') + FRAME - 1)
  const damaged = readFileSync(log)
  const { code, stderr } = await run(t, ['check', '--drop-damaged', '--store', `sqlite:${path}`])
  assert.equal(code, 0, stderr)
  const gone = [...stderr.matchAll(/^ {2}gone: created plant (\d+)$/gm)].map(([, id]) => Number(id))
  assert.deepEqual(gone, [8, 9, 10, 11])
  assert.deepEqual([...plantsIn(path).keys()], [0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n])
  const [kept] = readdirSync(join(path, '..')).filter((name) => name.startsWith('plants.db-wal.damaged-'))
  assert.deepEqual(readFileSync(join(path, '..', kept ?? '')), damaged)
  const { store } = await openSqlite(t, { path })
  await importAll(store, [plant(8n, 'again')])
})

test('a log whose header is damaged is dropped as a whole, with the names of its changes', async (t) => {
  const path = await crashedStore(t)
  const inFile = new Set(plantsIn(path).keys())
  flip(`${path}-wal`, 17)
  const { parts } = await checkStore(path, { dropDamaged: true })
  const dropped = parts.find(({ part }) => part === 'log')?.dropped ?? []
  assert.equal(dropped.length, 12)
  assert.ok(inFile.size === 12 && plantsIn(path).size === 0)
})

test('a store whose log is missing or empty does not start, nor is its file restored', async (t) => {
  for (const damage of [(log: string) => rmSync(log), (log: string) => truncateSync(log)]) {
    const path = await crashedStore(t)
    damage(`${path}-wal`)
    await refusedAs(path, /its log \S+plants\.db-wal is missing/)
    const elsewhere = join(tempFolder(t), 'plants.db')
    await assert.rejects(
      restoreBackup(elsewhere, path, { replace: false }),
      /copied from a store in use without its log/,
    )
    const { parts } = await checkStore(path, { dropDamaged: true })
    assert.match(parts[0]?.found ?? '', /went on without it, so that nothing tells what it had after the change \d+$/)
    await openSqlite(t, { path })
  }
})

test('a backup replaces a store that lacks changes, which stays under another name', async (t) => {
  for (const damage of [rmSync, (log: string) => flip(log, 100)]) {
    const path = await crashedStore(t)
    const backup = join(tempFolder(t), 'backup.db')
    await makeBackup(path, backup)
    damage(`${path}-wal`)
    const { kept } = await restoreBackup(path, backup, { replace: true })
    assert.equal(judgeWal(path), 'own')
    assert.equal(plantsIn(path).size, 12)
    assert.notEqual(judgeWal(kept ?? ''), 'own', 'the store before is as it was')
  }
})

test('a copy of the file alone, made at any moment of a load, does not start', async (t) => {
  const { path, store } = await openSqlite(t)
  const full = fullPlants(4000)
  for (let from = 0; from < full.length; from += 500) {
    const importing = importAll(store, full.slice(from, from + 500))
    for (const moment of ['beside', 'after']) {
      const copy = join(tempFolder(t), 'plants.db')
      // Another process copies: closing a file of the open store would drop the locks of this process.
      execFileSync('cp', [path, copy])
      // A copy during a checkpoint may be shorter than its first page says.
      assert.match(judgeWal(copy), /^(?:missing|truncated)$/, `${moment} the plants from ${from} on`)
      await importing
    }
  }
  await store.close()
  // A clean end takes the mark away: the file alone is the store.
  const moved = join(tempFolder(t), 'plants.db')
  copyFileSync(path, moved)
  assert.ok(!existsSync(`${path}-wal`))
  assert.equal(judgeWal(moved), 'own')
  assert.equal(plantsIn(moved).size, full.length)
})

test('after a kill, a store starts without a word, also where another program has opened and closed it before', async (t) => {
  const folder = tempFolder(t)
  for (const isOpened of [false, true, false]) {
    const { program, address, storePath } = await startServer(t, folder)
    const load = new Load(address, { firstId: BigInt(Math.floor(Math.random() * 1e12)) })
    await load.reaches(200)
    await program.kill()
    await load.done
    if (isOpened) {
      // Its last connection copies the log into the file, and removes the log.
      const db = new DatabaseSync(storePath)
      db.exec('SELECT count(*) FROM plants')
      db.close()
      assert.ok(!existsSync(`${storePath}-wal`))
    }
    assert.equal(judgeWal(storePath), 'own')
    load.assertAllIn(storePath)
    assert.ok(isIntact(storePath))
  }
})

/** A store as a crash leaves it between the two commits around a checkpoint, whose log ends with the mark. */
async function cutOffInCheckpoint(t: Scene, sql = ''): Promise<string> {
  const path = await crashedStore(t)
  const copy = join(tempFolder(t), 'plants.db')
  using db = openWriter(path)
  transaction(db, () => db.exec(sql))
  transaction(db, () => advanceEpoch(db, true))
  copyAsAfterCrash(path, copy)
  return copy
}

test('after a crash in a checkpoint, no program of the store takes the log for missing, whoever closes the file', async (t) => {
  const newer = await cutOffInCheckpoint(t, "INSERT INTO migrations VALUES (999999, 'from the future')")
  await assert.rejects(storeAt(newer), /newer/)
  assert.equal(judgeWal(newer), 'own', 'a start that refuses the schema')

  const replaced = await cutOffInCheckpoint(t)
  const backup = join(tempFolder(t), 'backup.db')
  await makeBackup(replaced, backup)
  const { kept = '' } = await restoreBackup(replaced, backup, { replace: true })
  assert.equal(judgeWal(kept), 'own', 'the store that a backup has replaced')
  assert.equal(plantsIn(kept).size, 12)

  const closed = await cutOffInCheckpoint(t)
  new SqliteWriter(closed).close()
  assert.ok(!existsSync(`${closed}-wal`))
  assert.equal(judgeWal(closed), 'own', 'a store that closes while its disk is full')
})

test('check --drop-damaged drops nothing of a whole store, and does nothing beside a service', async (t) => {
  const path = await crashedStore(t)
  const { parts } = await checkStore(path, { dropDamaged: true })
  assert.equal(parts[0]?.found, 'no change is damaged or missing')
  assert.equal(plantsIn(path).size, 12)
  const { store } = await openSqlite(t, { path })
  await assert.rejects(checkStore(path, { dropDamaged: true }), /another service already serves it/)
  await importAll(store, [plant(12n, 'later')])
})
