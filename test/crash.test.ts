import assert from 'node:assert/strict'
import { watch } from 'node:fs'
import { test } from 'node:test'
import { isIntact, tempFolder } from './support/files.ts'
import { Load } from './support/load.ts'
import { Program, startServer } from './support/process.ts'
import { assertSearchable } from './support/sqlite-indexes.ts'
import { settled } from './support/until.ts'

test('the service loses no acknowledged write when it is killed under load again and again', async (t) => {
  const folder = tempFolder(t)
  const loads: Load[] = []
  // Some rounds end among the first commits, others after a checkpoint.
  const rounds = [
    { created: 1, nameLength: 20 },
    { created: 300, nameLength: 1000 },
    { created: 1500, nameLength: 1000 },
  ]
  for (const [round, { created, nameLength }] of rounds.entries()) {
    const { program, address, storePath } = await startServer(t, folder)
    for (const load of loads) load.assertAllIn(storePath)
    assert.ok(isIntact(storePath))
    const load = new Load(address, { firstId: BigInt(round) * 1_000_000n, nameLength })
    loads.push(load)
    await load.reaches(created)
    await program.kill()
    await load.done
    assert.ok(load.broken.length > 0, 'the kill interrupts requests')
    assert.deepEqual([...load.refused], [])
  }
  const { program, storePath } = await startServer(t, folder)
  for (const load of loads) load.assertAllIn(storePath)
  await program.kill()
  await assertSearchable(storePath)
})

test('the service starts on every file that a kill during its first start leaves', async (t) => {
  // From before the store is created to about the start of listening.
  const moments = [0, 2, 8, 32]
  await Promise.all(
    moments.map(async (moment) => {
      const folder = tempFolder(t)
      const first = new Program(t, ['serve', '--port', '0', '--store', `sqlite:${folder}/plants.db`])
      await changesIn(folder, moment, first)
      await first.kill()
      const { program, address } = await startServer(t, folder)
      const load = new Load(address)
      await load.reaches(10)
      await load.stop()
      await program.kill()
    }),
  )
})

/** Resolves once the program has made so many changes in a folder, or serves. */
async function changesIn(folder: string, count: number, program: Program): Promise<void> {
  let seen = 0
  const { promise: changed, resolve } = Promise.withResolvers<void>()
  const watcher = watch(folder, () => {
    if (++seen === count) resolve()
  })
  if (count === 0) resolve()
  const serving = program.says((stdout) => (stdout.includes('Address') ? true : undefined))
  // The kill ends it.
  serving.catch(() => {})
  try {
    await settled(Promise.race([changed, serving]), 'the program does not begin')
  } finally {
    watcher.close()
  }
}
