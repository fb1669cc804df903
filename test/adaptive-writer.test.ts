import assert from 'node:assert/strict'
import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { AppError } from '../src/domain/errors.ts'
import { openWriter } from '../src/sqlite/connection.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { AdaptiveWriter } from '../src/sqlite/write/write-queue.ts'
import type { Put } from '../src/sqlite/write/writer.ts'
import { cleanUp } from './support/clean-up.ts'
import { plantsIn, tempFolder } from './support/files.ts'
import { plant } from './support/store-under-test.ts'

const put = (id: bigint, name?: string): Put => ({ plant: plant(id, name), mode: 'add', actor: 'tester' })

function newWriter(t: TestContext, now?: () => number): { writer: AdaptiveWriter; path: string } {
  const path = join(tempFolder(t), 'plants.db')
  createStoreFile(path)
  const writer = new AdaptiveWriter(path, { onFatal: (error) => assert.fail(error) }, now)
  cleanUp(t, () => writer.close())
  return { writer, path }
}

/** A clock that advances by `step` milliseconds at each reading, so that every commit takes that long. */
class Clock {
  step = 0
  #time = 0

  readonly now = (): number => {
    this.#time += this.step
    return this.#time
  }

  pass(ms: number): void {
    this.#time += ms
  }
}

test('the writer commits on the event loop while commits are fast', async (t) => {
  const { writer, path } = newWriter(t, new Clock().now)
  // Fewer commits than make the thread checkpoint the log.
  for (let id = 1n; id <= 50n; id++) {
    const answer = writer.createPlants([put(id)])
    assert.equal(writer.commitsOn, 'event loop')
    assert.deepEqual(await answer, ['created'])
  }
  assert.equal(plantsIn(path).size, 50)
})

test('the writer commits a few short statements where it commits creates', async (t) => {
  const clock = new Clock()
  const { writer } = newWriter(t, clock.now)
  const checkAt = async (time: number) => {
    const changed = writer.run([['UPDATE write_check SET checked_at = ?', time]])
    const { commitsOn } = writer
    assert.deepEqual(await changed, [1])
    return commitsOn
  }
  assert.equal(await checkAt(1), 'event loop')
  clock.step = 5000
  for (let id = 1n; id <= 10n; id++) await writer.createPlants([put(id)])
  clock.step = 0
  assert.equal(await checkAt(2), 'thread')
})

test('on a slow disk the writer commits in its thread, and the slower the disk, the longer', async (t) => {
  const clock = new Clock()
  const { writer, path } = newWriter(t, clock.now)
  let id = 0n
  const commit = async (count: number, step: number) => {
    clock.step = step
    for (let i = 0; i < count; i++) await writer.createPlants([put(++id)])
    clock.step = 0
  }
  await commit(9, 5)
  assert.equal(writer.commitsOn, 'event loop')
  await commit(1, 5)
  assert.equal(writer.commitsOn, 'thread')
  await commit(1, 0)
  clock.pass(3000)
  assert.equal(writer.commitsOn, 'event loop')
  await commit(3, 50)
  clock.pass(3000)
  assert.equal(writer.commitsOn, 'thread')
  clock.pass(30_000)
  assert.equal(writer.commitsOn, 'event loop')
  await commit(3, 5000)
  clock.pass(61_000)
  assert.equal(writer.commitsOn, 'event loop')
  assert.equal(plantsIn(path).size, 17)
})

test('the writer stays on the event loop when few commits are slow', async (t) => {
  const clock = new Clock()
  const { writer } = newWriter(t, clock.now)
  for (let id = 1n; id <= 200n; id++) {
    // Five slow commits in a row, then one in twenty.
    clock.step = id <= 5n || id % 20n === 0n ? 5 : 0
    await writer.createPlants([put(id)])
  }
  assert.equal(writer.commitsOn, 'event loop')
})

test('the writer commits a large group in its thread, and the groups behind it too', async (t) => {
  const { writer } = newWriter(t, new Clock().now)
  const large = Array.from({ length: 1000 }, (_, i) => put(BigInt(i)))
  const first = writer.createPlants(large)
  assert.equal(writer.commitsOn, 'thread')
  assert.deepEqual(await writer.createPlants([put(999n)]), ['unchanged'])
  assert.equal((await first).length, 1000)
  assert.equal(writer.commitsOn, 'event loop')
})

test('the event loop stays free while another process holds the write lock', async (t) => {
  const { writer, path } = newWriter(t)
  await writer.createPlants([put(1n)])
  const other = openWriter(path)
  other.exec('BEGIN IMMEDIATE')
  const answer = writer.createPlants([put(2n)])
  for (let turns = 0; turns < 100; turns++) await turn()
  other.exec('COMMIT')
  other.close()
  assert.deepEqual(await answer, ['created'])
})

test('the writer checkpoints the log often enough to keep it short', async (t) => {
  const { writer, path } = newWriter(t, new Clock().now)
  const name = 'x'.repeat(4000)
  for (let id = 0n; id < 15_000n; id += 10n) {
    const rows = Array.from({ length: 10 }, (_, i) => put(id + BigInt(i), name))
    await writer.createPlants(rows)
  }
  assert.ok(statSync(`${path}-wal`).size < 32 * 2 ** 20, 'most of 60 MB is still in the log')
})

const isOutOfReach = (error: unknown) => error instanceof AppError && error.number === 50301

for (const [place, other] of [
  ['thread', 'event loop'],
  ['event loop', 'thread'],
] as const) {
  test(`after a fatal fault in the ${place} the writer commits nothing more`, async (t) => {
    const path = join(tempFolder(t), 'plants.db')
    writeFileSync(path, 'this is no database, and long enough to be taken for one'.repeat(100))
    const fatal: Error[] = []
    const writer = new AdaptiveWriter(path, { onFatal: (error) => fatal.push(error) })
    const create = (from: typeof place, id: bigint) => {
      const rows: Put[] = [{ plant: plant(id, 'a'), mode: 'add', actor: 'tester' }]
      return from === 'thread' ? writer.thread.createPlants(rows) : writer.createPlants(rows)
    }
    const first = create(place, 1n)
    // The writer gets this call before the caller learns of the fault.
    const second = place === 'thread' ? create('thread', 2n) : undefined
    await assert.rejects(first, isOutOfReach)
    if (second !== undefined) await assert.rejects(second, isOutOfReach)
    assert.ok(fatal.length > 0)
    rmSync(path)
    createStoreFile(path)
    await assert.rejects(create(place, 3n), isOutOfReach)
    await assert.rejects(create(other, 4n), isOutOfReach)
    await writer.close()
  })
}
