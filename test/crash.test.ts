import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isIntact, tempFolder } from './support/files.ts'
import { Load } from './support/load.ts'
import { Program, startServer } from './support/process.ts'
import { assertSearchable } from './support/sqlite-indexes.ts'

test('the service loses no acknowledged write when it is killed under load again and again', async (t) => {
  const folder = tempFolder(t)
  const loads: Load[] = []
  for (let round = 0; round < 6; round++) {
    const { program, address, storePath } = await startServer(t, folder)
    for (const load of loads) load.assertAllIn(storePath)
    assert.ok(isIntact(storePath))
    const load = new Load(address, { firstId: BigInt(round) * 1_000_000n, nameLength: round % 2 === 0 ? 20 : 6000 })
    loads.push(load)
    // Some rounds end among the first commits, others after a checkpoint.
    await load.reaches([1, 300, 2500][round % 3] ?? 1)
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
  // The moments range from before the store is created to about the start of listening.
  for (const delay of [100, 150, 200, 250, 300, 350]) {
    const folder = tempFolder(t)
    const first = new Program(t, ['serve', '--port', '0', '--store', `sqlite:${folder}/plants.db`])
    await sleep(delay)
    await first.kill()
    const { program, address } = await startServer(t, folder)
    const load = new Load(address)
    await load.reaches(10)
    await load.stop()
    await program.kill()
  }
})
