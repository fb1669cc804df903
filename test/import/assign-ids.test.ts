import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withIds } from '../../src/import/assign-ids.ts'
import type { Batch } from '../../src/import/batch.ts'
import { runImport } from '../../src/import/run-import.ts'
import { TESTER } from '../support/actor.ts'
import { openSqlite } from '../support/open-sqlite.ts'

/** Batches of rows that have these names, each row in a line of its own. */
function* batchesOf(count: number, nameOf: (i: number) => string): Generator<Batch, void> {
  for (let at = 0; at < count; at += 1000) {
    const lines = Array.from({ length: Math.min(1000, count - at) }, (_, i) => at + i + 1)
    yield { plants: lines.map((line) => ({ id: 0n, name: nameOf(line), tag: undefined })), lines, refused: [] }
  }
}

async function* slowly(batches: Iterable<Batch>): AsyncGenerator<Batch, void> {
  yield* batches
}

test('rows of several groups are plants of one file: equal ones too, and with a key in each attempt', async (t) => {
  const { store } = await openSqlite(t)
  const options = { mode: 'add', dryRun: false, duplicates: false, actor: TESTER } as const
  const nameOf = (i: number) => `plant ${i % 50_000}`
  const run = async (key: string | undefined, count = 60_000) => {
    const counts = [0, 0]
    const numbered = withIds(store, slowly(batchesOf(count, nameOf)), { actor: TESTER, dryRun: false, key })
    await runImport(store, numbered, options, ({ added, unchanged }) => {
      counts[0] = (counts[0] ?? 0) + added
      counts[1] = (counts[1] ?? 0) + unchanged
    })
    return counts
  }
  assert.deepEqual(await run('a key of this test'), [60_000, 0])
  assert.deepEqual(await run('a key of this test'), [0, 60_000])
  assert.deepEqual(await run(undefined), [0, 60_000])
  await assert.rejects(run('a key of this test', 59_999), { number: 40902 })
  assert.equal(await store.countPlants(), 60_000)
})
