import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Batch } from '../../src/import/batch.ts'
import { FORMATS, readPlants } from '../../src/import/format.ts'
import { putBatches } from '../../src/import/run-import.ts'
import { manyPlants, textOf } from '../support/plant-files.ts'
import { chunksOf } from './support.ts'

test('a batch has at most a thousand rows, however many a piece of the file contains', async () => {
  for (const format of FORMATS) {
    const file = Buffer.from(textOf(format, manyPlants(2500)))
    const batches = await Array.fromAsync(readPlants(format, chunksOf(file, file.length)))
    assert.deepEqual(
      batches.map(({ plants }) => plants.length),
      [1000, 1000, 500],
    )
  }
})

test('an aborted import begins no further batch, and waits for the one in progress', async () => {
  const ending = new AbortController()
  const put: number[] = []
  const batch: Batch = { plants: manyPlants(1), lines: [1], refused: [] }
  let taken = 0
  const importing = putBatches(
    (async function* () {
      for (let i = 0; i < 5; i++) yield batch
    })(),
    async () => {
      put.push(put.length)
      if (put.length === 2) ending.abort(new Error('ended'))
      return { added: 1, updated: 0, unchanged: 0, refused: 0, refusedRows: [] }
    },
    () => taken++,
    ending.signal,
  )
  await assert.rejects(importing, /^Error: ended$/)
  assert.deepEqual([put.length, taken], [2, 2])
})
