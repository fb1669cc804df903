import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../src/domain/errors.ts'
import { createStoreFile } from '../src/sqlite/open/prepare-file.ts'
import { AdaptiveWriter } from '../src/sqlite/write/write-queue.ts'
import type { Put } from '../src/sqlite/write/writer.ts'
import { tempFolder } from './support/files.ts'
import { plant } from './support/store-under-test.ts'

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
