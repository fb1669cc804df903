import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AppError } from '../src/errors.ts'
import { createStoreFile } from '../src/sqlite/open/create-file.ts'
import { WriterClient } from '../src/sqlite/worker/writer-client.ts'
import { AdaptiveWriter } from '../src/sqlite/write/adaptive-writer.ts'
import { tempFolder } from './support/files.ts'

const isOutOfReach = (error: unknown) => error instanceof AppError && error.number === 50301

for (const Writer of [WriterClient, AdaptiveWriter]) {
  test(`${Writer.name}: after a fault that casts doubt on the file nothing more is committed, even if it would work again`, async (t) => {
    const path = join(tempFolder(t), 'plants.db')
    writeFileSync(path, 'this is no database, and long enough to be taken for one'.repeat(100))
    const fatal: Error[] = []
    const writer = new Writer(path, (error) => fatal.push(error))
    await assert.rejects(writer.call('createPlants', [1n, 'a', null, false]), isOutOfReach)
    rmSync(path)
    createStoreFile(path)
    await assert.rejects(writer.call('createPlants', [2n, 'b', null, false]), isOutOfReach)
    await writer.close()
    assert.ok(fatal.length > 0)
  })
}
