import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openWriter } from '../src/sqlite/connection.ts'
import { prepareFile } from '../src/sqlite/open/prepare-file.ts'
import { advanceEpoch } from '../src/sqlite/wal/epoch.ts'
import { transaction } from '../src/sqlite/wal/transaction.ts'
import { judgeWal } from '../src/sqlite/wal/wal-ownership.ts'
import { cleanUp } from './support/clean-up.ts'
import { copyAsAfterCrash, tempFolder } from './support/files.ts'
import { storeAt } from './support/open-sqlite.ts'

const PAGE = 4096
const LOG_HEADER = 32
const FRAME = PAGE + 24

/** The bytes of a store: its file and its log. */
interface Image {
  readonly file: Buffer
  readonly log: Buffer
}

interface Scene {
  readonly db: DatabaseSync
  /** Returns the files as a crash at this moment would leave them. */
  image(): Image
  judge(file: Buffer, log: Buffer): string
}

async function openStore(t: TestContext): Promise<Scene> {
  const folder = tempFolder(t)
  const path = join(folder, 'plants.db')
  await (await storeAt(path, { serving: false })).close()
  const db = openWriter(path)
  cleanUp(t, () => db.close())
  const copy = join(folder, 'copy')
  return {
    db,
    image() {
      copyAsAfterCrash(path, copy)
      return {
        file: readFileSync(copy),
        log: existsSync(`${copy}-wal`) ? readFileSync(`${copy}-wal`) : Buffer.alloc(0),
      }
    },
    judge(file, log) {
      writeFileSync(copy, file)
      writeFileSync(`${copy}-wal`, log)
      return judgeWal(copy)
    },
  }
}

let nextId = 0

function create(db: DatabaseSync, plants: number): void {
  const insert = db.prepare('INSERT INTO plants (id, name) VALUES (?, ?)')
  transaction(db, () => {
    for (let i = 0; i < plants; i++) insert.run(nextId++, 'x'.repeat(500))
  })
}

/** Advances the epoch, with the mark of a file that lacks what its log has, or without. */
const mark = (db: DatabaseSync, hasMark = false): void => transaction(db, () => advanceEpoch(db, hasMark))

/** The file in the middle of a checkpoint: its first pages are those of `after`. */
const partly = (before: Buffer, after: Buffer, pages: number): Buffer =>
  Buffer.concat([after.subarray(0, pages * PAGE), before.subarray(pages * PAGE)])

test('the log of a crash at any point matches its store, and an older or newer log does not', async (t) => {
  const { db, image, judge } = await openStore(t)
  mark(db)
  const bases: Image[] = []
  for (let generation = 0; generation < 4; generation++) {
    for (let commit = 0; commit < 4; commit++) create(db, commit % 2 === 0 ? 1 : 40)
    mark(db, true)
    const before = image()
    // A commit under way has written some of its frames.
    for (let length = 0; length <= before.log.length; length += FRAME / 2) {
      const verdict = length === 0 && generation > 0 ? 'missing' : 'own'
      assert.equal(judge(before.file, before.log.subarray(0, length)), verdict, `${length} bytes of the log`)
    }
    db.exec('PRAGMA wal_checkpoint(PASSIVE)')
    const checkpointed = image()
    // A checkpoint copies pages in order.
    for (let pages = 0; pages * PAGE <= checkpointed.file.length; pages++) {
      assert.equal(
        judge(partly(before.file, checkpointed.file, pages), before.log),
        'own',
        `${pages} pages are checkpointed`,
      )
    }
    mark(db)
    const after = image()
    for (const length of [LOG_HEADER, LOG_HEADER + FRAME - 1, LOG_HEADER + FRAME, after.log.length]) {
      assert.equal(judge(checkpointed.file, after.log.subarray(0, length)), 'own', `${length} bytes of the next log`)
    }
    // SQLite restarts a log in its place, so it never becomes so short.
    for (const length of [0, LOG_HEADER - 1])
      assert.equal(judge(checkpointed.file, after.log.subarray(0, length)), 'missing', `${length} bytes`)
    // A disk may still have old frames behind the header of the new log.
    const torn = Buffer.concat([after.log.subarray(0, LOG_HEADER), before.log.subarray(LOG_HEADER)])
    assert.equal(judge(checkpointed.file, torn), 'own')
    bases.push(before)
    for (const { file } of bases) assert.equal(judge(file, after.log), 'foreign', 'an older file')
    for (const { log } of bases.slice(0, -1)) assert.equal(judge(checkpointed.file, log), 'foreign', 'an older log')
  }
})

test('the log of another store does not match, even if both stores have the same content', async (t) => {
  const [one, other] = [await openStore(t), await openStore(t)]
  for (const { db } of [one, other]) create(db, 1)
  for (const { db } of [one, other]) mark(db)
  assert.equal(one.judge(one.image().file, one.image().log), 'own')
  assert.equal(one.judge(one.image().file, other.image().log), 'foreign')
  assert.equal(one.judge(other.image().file, one.image().log), 'foreign')
})

test('a log matches a store without marks, and a store with its first mark', async (t) => {
  const { db, image, judge } = await openStore(t)
  db.exec('PRAGMA user_version = 0; PRAGMA wal_checkpoint(TRUNCATE)')
  const unmarked = image()
  create(db, 1)
  assert.equal(judge(unmarked.file, image().log), 'own', 'no first page in the log')
  create(db, 100)
  assert.equal(judge(unmarked.file, image().log), 'own', 'the first page of a store that grew')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const checkpointed = image()
  mark(db)
  assert.equal(judge(checkpointed.file, image().log), 'own', 'its first mark')
  mark(db)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  mark(db)
  assert.equal(judge(unmarked.file, image().log), 'foreign', 'a later mark')
})

test('a log still matches after the schema has changed before a mark', async (t) => {
  const { db, image, judge } = await openStore(t)
  const base = image()
  transaction(db, () => db.exec('CREATE TABLE a (b); CREATE TABLE c (d)'))
  assert.equal(judge(base.file, image().log), 'own')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const next = image()
  transaction(db, () => db.exec('CREATE VIEW e AS SELECT 1'))
  assert.equal(judge(next.file, image().log), 'own')
})

test('a log with a wrong checksum before a commit that SQLite has followed up is damaged, whatever the file has of it', async (t) => {
  const { db, image, judge } = await openStore(t)
  mark(db)
  create(db, 1)
  const older = image()
  db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  mark(db)
  create(db, 1)
  create(db, 40)
  const between = image().log.length
  mark(db)
  const newer = image()
  assert.equal(judge(older.file, newer.log), 'foreign')
  assert.equal(
    judge(older.file, withFlippedBit(newer.log, LOG_HEADER + FRAME - 1)),
    'damaged',
    'SQLite ignores all of it',
  )
  // A checkpoint copied the first page with the second mark, which is only behind the wrong checksum.
  const whole = Buffer.concat([newer.file, Buffer.alloc(100 * PAGE)])
  const checkpointed = partly(whole, newer.log.subarray(between + 24), 1)
  assert.equal(judge(checkpointed, newer.log), 'own')
  assert.equal(judge(checkpointed, withFlippedBit(newer.log, between - 1)), 'damaged')
})

function withFlippedBit(log: Buffer, at: number): Buffer {
  const flipped = Buffer.from(log)
  flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
  return flipped
}

test('a file that a crash left in the middle of a checkpoint needs no log once it is prepared', async (t) => {
  const { db, image } = await openStore(t)
  create(db, 10)
  mark(db, true)
  db.exec('PRAGMA wal_checkpoint(PASSIVE)')
  const { file, log } = image()
  const path = join(tempFolder(t), 'plants.db')
  writeFileSync(path, file)
  writeFileSync(`${path}-wal`, log)
  prepareFile(path, true)
  // A start that fails after this leaves no log.
  assert.ok(!existsSync(`${path}-wal`))
  assert.equal(judgeWal(path), 'own')
})

test('the log of a crash matches no store that a start has recovered since', async (t) => {
  const { db, image, judge } = await openStore(t)
  mark(db)
  create(db, 40)
  const crashed = image()
  const path = join(tempFolder(t), 'recovered')
  writeFileSync(path, crashed.file)
  writeFileSync(`${path}-wal`, crashed.log)
  prepareFile(path, true)
  assert.equal(existsSync(`${path}-wal`), false, 'the start has taken the log into the file')
  const recovered = readFileSync(path)
  assert.equal(judge(crashed.file, crashed.log), 'own')
  // Recovered again, it would take back what the store has got since.
  assert.equal(judge(recovered, crashed.log), 'foreign')
})
