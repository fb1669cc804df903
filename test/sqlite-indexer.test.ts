import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Indexer } from '../src/sqlite/indexer.ts'
import { PlacedWriter } from '../src/sqlite/placed-writer.ts'
import { SqliteStore } from '../src/sqlite/store.ts'
import type { IndexProgress, WriterCalls } from '../src/sqlite/writer.ts'
import type { WriterPort } from '../src/sqlite/writer-port.ts'
import { cleanUp } from './support/clean-up.ts'
import { tempFolder } from './support/files.ts'
import { openSqlite } from './support/open-sqlite.ts'
import { assertIndexesMatch, backlog, inFile } from './support/sqlite-indexes.ts'
import { importAll } from './support/store-calls.ts'
import { plant, refusal } from './support/store-under-test.ts'

const MANY = Array.from({ length: 6000 }, (_, i) => plant(BigInt(i - 3000), `Monstera ${i}`, `tag ${i % 3}`))

test('SQLite: all is indexed at once where that is asked for, unless it is stopped', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const { store } = await openSqlite(t, { path })
  await importAll(store, MANY)
  const stop = new AbortController()
  const done: number[] = []
  const stopped = store.indexPlants(stop.signal, (plants) => {
    done.push(plants)
    stop.abort(new Error('stopped'))
  })
  await assert.rejects(stopped, /stopped/)
  assert.equal(done.length, 1)
  await store.indexPlants(new AbortController().signal, (plants) => done.push(plants))
  assert.equal(backlog(path), 0)
  assertIndexesMatch(path)
  await assert.rejects(
    store.indexPlants(stop.signal, () => assert.fail()),
    /stopped/,
  )
  await store.close()
  await assert.rejects(
    store.indexPlants(new AbortController().signal, () => {}),
    refusal(50303),
  )
})

/** How often a writer was told to index. */
class ObservedWriter extends PlacedWriter {
  tries = 0

  override call<M extends keyof WriterCalls>(
    method: M,
    ...args: Parameters<WriterCalls[M]>
  ): Promise<ReturnType<WriterCalls[M]>> {
    if (method === 'indexPlants') this.tries++
    return super.call(method, ...args)
  }
}

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10))
}

test('SQLite: a fault of the indexing is told once, and once more when it comes again', async (t) => {
  const path = join(tempFolder(t), 'plants.db')
  const notices: string[] = []
  let writer: ObservedWriter | undefined
  const store = await SqliteStore.open(path, {
    serving: true,
    create: true,
    maxWaiting: 100,
    startWriter: (path, onFatal) => {
      writer = new ObservedWriter(path, onFatal)
      return writer
    },
    onFatal: assert.fail,
    onNotice: (text) => notices.push(text),
  })
  cleanUp(t, () => store.close())
  const tries = () => writer?.tries ?? 0
  const refuse = () =>
    inFile(path, (db) =>
      db.exec("CREATE TRIGGER full BEFORE INSERT ON plant_names BEGIN SELECT RAISE(ABORT, 'no more names'); END"),
    )
  refuse()
  await importAll(store, [plant(1n)])
  await until(() => tries() > 2)
  assert.match(notices.join(), /^plants that were written lately can't be indexed \(SQLite \d+: no more names\);/)
  assert.equal(notices.length, 1)
  inFile(path, (db) => db.exec('DROP TRIGGER full'))
  await until(() => backlog(path) === 0)
  refuse()
  await importAll(store, [plant(2n)])
  await until(() => notices.length > 1)
  assert.deepEqual(notices, [notices[0], notices[0]])
})

/** A writer that has so many plants to index, and indexes so many with each call. */
class CountingWriter implements WriterPort {
  left: number
  readonly calls: number[] = []

  constructor(left: number) {
    this.left = left
  }

  async call<M extends keyof WriterCalls>(
    method: M,
    ...args: Parameters<WriterCalls[M]>
  ): Promise<ReturnType<WriterCalls[M]>> {
    assert.equal(method, 'indexPlants')
    const most = Number(args[0])
    const indexed = Math.min(most, this.left)
    this.calls.push(most)
    this.left -= indexed
    const progress: IndexProgress = { indexed, isDone: indexed === 0 }
    return progress as ReturnType<WriterCalls[M]>
  }

  async close(): Promise<void> {}
}

test('SQLite: who needs the indexes waits for the plants that were there, and no longer than told', async () => {
  const writer = new CountingWriter(1_000_000)
  const indexer = new Indexer(writer, (fault) => assert.fail(fault))
  await indexer.catchUp(5000, performance.now() + 60_000)
  assert.ok(writer.left <= 995_000 && writer.left > 900_000)
  await assert.rejects(indexer.catchUp(5000, performance.now() - 1), (error) => {
    refusal(50305)(error)
    assert.match(String(error), /at least 5000 plants/)
    return true
  })
  await indexer.close()
  await assert.rejects(indexer.catchUp(1, performance.now() + 60_000), refusal(50303))
})

test('SQLite: with a large backlog a few plants are indexed after each write, with a small one none', async () => {
  const writer = new CountingWriter(1_000_000)
  const indexer = new Indexer(writer, (fault) => assert.fail(fault))
  indexer.wrote(1000)
  assert.deepEqual(writer.calls, [])
  indexer.wrote(200_000)
  indexer.wrote(1)
  assert.equal(writer.calls.length, 1, 'one at a time')
  await indexer.close()
})
