import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { AppError } from '../src/domain/errors.ts'
import { type IndexReport, indexPath, UnreadyIndex } from '../src/sqlite/indexed.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { QueryReader } from '../src/sqlite/read/query-reader.ts'
import type { IndexFollower } from '../src/sqlite/search-index/index-follower.ts'
import { Indexer } from '../src/sqlite/search-index/indexer.ts'
import { ThreadClient } from '../src/sqlite/worker/client.ts'
import { TaskRunner } from '../src/sqlite/worker/cooperative.ts'
import { errorOf, failureOf } from '../src/sqlite/worker/protocol.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { isLinux, notTestedHere } from './support/not-tested.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { IDLE } from './support/sqlite-indexes.ts'
import { importAll } from './support/store-calls.ts'
import { plant } from './support/store-under-test.ts'
import { until } from './support/until.ts'

const crossed = (error: unknown): Error => errorOf(structuredClone(failureOf(error)))

test('an error keeps its class and its members when it passes between threads', () => {
  const refusal = crossed(new AppError(40901, 'it is different'))
  assert.ok(refusal instanceof AppError)
  assert.deepEqual([refusal.number, refusal.message], [40901, 'it is different'])
  const full = crossed(Object.assign(new Error('database or disk is full'), { errcode: 13 }))
  assert.ok(full instanceof AppError)
  assert.equal(full.number, 50304)
  for (const inode of [7, undefined]) {
    const unready = crossed(new UnreadyIndex('it is damaged', inode))
    assert.ok(unready instanceof UnreadyIndex)
    assert.deepEqual([unready.inode, unready.message], [inode, 'it is damaged'])
  }
  const bug = new TypeError('no such member')
  assert.equal(crossed(bug).message, bug.stack)
  assert.equal(crossed('thrown text').message, 'thrown text')
})

test('tasks take turns, and an aborted task stops without another event', async () => {
  const events: string[] = []
  const runner = new TaskRunner({
    onResult: (key, result) => events.push(`${key} ${result}`),
    onError: (key, error) => events.push(`${key} ${error}`),
  })
  const ended: number[] = []
  function* endless(key: number) {
    try {
      for (;;) {
        // Longer than a turn.
        for (const until = performance.now() + 6; performance.now() < until; );
        yield
      }
    } finally {
      ended.push(key)
    }
  }
  function* short() {
    yield
    return 'result'
  }
  function* failing() {
    yield
    throw new Error('failed')
  }
  runner.add(1, endless(1))
  runner.add(2, endless(2))
  runner.add(3, short())
  runner.add(4, failing())
  while (events.length < 2) await turn()
  assert.deepEqual(events.toSorted(), ['3 result', '4 Error: failed'])
  runner.abort(1)
  assert.deepEqual(ended, [1])
  await turn()
  runner.close()
  assert.deepEqual(ended, [1, 2])
  await turn()
  assert.deepEqual(events.length, 2)
})

test('sixteen tasks run at once, and an end or an abort of one starts the next that is not aborted itself', async () => {
  const started: number[] = []
  const runner = new TaskRunner({ onResult: () => {}, onError: (_, error) => assert.fail(String(error)) })
  function* task(key: number) {
    started.push(key)
    for (const until = performance.now() + 6; performance.now() < until; );
    yield
    yield
  }
  for (let key = 0; key < 18; key++) runner.add(key, task(key))
  assert.equal(started.length, 16)
  // Aborts a running task and a waiting one.
  runner.abort(0)
  runner.abort(16)
  await turn()
  assert.deepEqual(started.slice(16), [17])
  runner.close()
})

test('a count of all plants takes turns with other reads, and counts the plants of one moment', (t) => {
  const path = join(tempFolder(t), 'plants.db')
  createStoreFile(path)
  const db = new DatabaseSync(path)
  const reader = new QueryReader(path)
  cleanUp(t, () => reader.close())
  cleanUp(t, () => db.close())
  const insert = (first: number, last: number) =>
    db.exec(`WITH RECURSIVE ids(id) AS (SELECT ${first} UNION ALL SELECT id + 1 FROM ids WHERE id < ${last})
      INSERT INTO plants (id, name, tag) SELECT id, 'x', NULL FROM ids`)
  const count = () => {
    const task = reader.countPlants()
    let turns = 0
    for (;;) {
      const { done, value } = task.next()
      if (done === true) return { plants: value, turns }
      if (++turns === 2) insert(50_001, 50_003)
    }
  }
  assert.deepEqual(count(), { plants: 0, turns: 0 })
  insert(-9999, 50_000)
  assert.deepEqual(count(), { plants: 60_000, turns: 3 })
  db.exec('DELETE FROM plants WHERE id <> 7')
  assert.deepEqual(count(), { plants: 1, turns: 0 })
})

test('a thread that cannot open its store reports that, and refuses calls after its end', async (t) => {
  const thread = new ThreadClient<QueryReader>('queries', join(tempFolder(t), 'missing.db'), { onFatal: assert.fail })
  cleanUp(t, () => thread.close())
  const isOutOfReach = { number: 50301 }
  await assert.rejects(thread.remote.countPlants(), isOutOfReach)
  await assert.rejects(thread.unlessAborted(AbortSignal.timeout(60_000)).countPlants(), isOutOfReach)
  assert.equal(thread.hasEnded, false)
  assert.equal(thread.unanswered, 0)
  const abandoned = assert.rejects(thread.remote.countPlants(), new Error('it closes'))
  await thread.close({ abandon: new Error('it closes') })
  await abandoned
  await assert.rejects(thread.remote.countPlants(), new Error('it closes'))
  assert.equal(thread.hasEnded, true)
})

/** The nice values of all threads of this process (proc_pid_stat(5), field 19). */
const niceValues = (): number[] =>
  readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

test('the thread of the search index has the lowest priority of all once searches need not wait for it', async (t) => {
  if (!isLinux) return notTestedHere(t, 'the priority of a thread, because only Linux has one')
  const { path, store } = await openSqlite(t, { startFollower: () => IDLE })
  await importAll(store, [plant(1n)])
  const indexer = new Indexer(path)
  indexer.step()
  indexer.close()
  const usual = getPriority()
  const reports: IndexReport[] = []
  const onProgress = (report: IndexReport) => void reports.push(report)
  const thread = new ThreadClient<IndexFollower>('index', path, { onFatal: assert.fail, onProgress })
  cleanUp(t, () => thread.close())
  const open = new DatabaseSync(indexPath(path))
  // While another connection writes to the index, the thread can't complete it.
  open.exec('BEGIN IMMEDIATE')
  await thread.remote.wake(0)
  await until(() => reports.some((report) => 'fault' in report), 'the thread does not try to write')
  assert.ok(niceValues().every((nice) => nice === usual))
  open.close()
  await until(() => niceValues().includes(usual + 5), 'no thread has a lower priority')
  const found = niceValues().filter((nice) => nice !== usual)
  assert.deepEqual(found, [usual + 5])
})
