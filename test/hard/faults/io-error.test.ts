import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isIntact, tempFolder } from '../../support/files.ts'
import { Load, send } from '../../support/load.ts'
import { notTestedHere } from '../../support/not-tested.ts'
import { run, startServer, TOKEN } from '../../support/process.ts'
import { failing, hasStrace } from '../../support/strace.ts'

/** A test on a disk that fails. */
const faultTest = (title: string, work: (t: TestContext, folder: string) => Promise<void>) =>
  test(title, (t) =>
    hasStrace ? work(t, tempFolder(t)) : notTestedHere(t, `${title}, because strace is not there or not allowed`),
  )

const failingDisk = (call: string, when: string) => failing(call, `error=EIO:${when}`)

/** System calls that fail in the thread of the writer under load, after its start. */
const FAULTS = [
  ['fsync', 'when=30', 'fails once'],
  ['pwrite64', 'when=400+', 'fails from now on'],
] as const

for (const [call, when, fails] of FAULTS) {
  const title = `when ${call} ${fails}, writes get 50301, the process exits, and no acknowledged plant is lost`
  faultTest(title, async (t, folder) => {
    await (await startServer(t, folder)).program.kill()
    const { program, address, storePath } = await startServer(t, folder, [], { under: failingDisk(call, when) })
    const load = new Load(address, { clients: 8 })
    await load.until(() => load.refused.has(50301))
    // The process may still run or not, but it must not report that it is ready.
    const readiness = await send('GET', `${address}/health/ready`).catch(() => undefined)
    assert.notEqual(readiness?.status, 200)
    await load.done
    const { code, stderr } = await program.outcome
    assert.equal(code, 1)
    assert.match(stderr, /the store failed; the process exits/)
    assert.ok((load.refused.get(50301) ?? 0) > 0, 'clients of the failed commit got an answer')
    const found = [...load.refused.keys()].filter((error) => error !== 50301 && error !== 50303)
    assert.deepEqual(found, [])
    assert.ok(load.acknowledged.size > 0, 'some plants were acknowledged')

    const restarted = await startServer(t, folder)
    load.assertAllIn(storePath)
    assert.ok(isIntact(storePath))
    const after = new Load(restarted.address, { firstId: 1_000_000n })
    await after.reaches(10)
    await after.stop()
  })
}

faultTest('a disk fault during recovery stops the start, and loses nothing', async (t, folder) => {
  const { program, address, storePath } = await startServer(t, folder)
  const load = new Load(address)
  await load.reaches(300)
  await program.kill()
  await load.done
  const args = ['serve', '--port', '0', '--store', `sqlite:${storePath}`]
  for (const call of ['fsync', 'pwrite64']) {
    const { code, stdout, stderr } = await run(t, args, { under: failingDisk(call, 'when=1+') })
    assert.match(stderr, /^plantstore: store [^\n]*disk I\/O error[^\n]*\n$/)
    assert.deepEqual([code, stdout], [1, ''])
  }
  await startServer(t, folder)
  load.assertAllIn(storePath)
  assert.ok(isIntact(storePath))
})

faultTest('a read of the log that fails is not taken for a damaged store, and loses nothing', async (t, folder) => {
  await (await startServer(t, folder)).program.kill()
  const wal = join(folder, 'plants.db-wal')
  const under = failing('pread64', 'error=EIO:when=200+', wal)
  const { program, storePath, address } = await startServer(t, folder, [], { under })
  const load = new Load(address, { clients: 8 })
  await load.done
  const { code, stderr } = await program.outcome
  assert.equal(code, 1)
  assert.match(stderr, /malformed; a disk that fails to read looks the same, so look for its errors/)
  const start = ['serve', '--port', '0', '--store', `sqlite:${storePath}`]
  const refused = await run(t, start, { under: failing('pread64', 'error=EIO:when=1+', wal) })
  assert.match(refused.stderr, /^plantstore: store \S+: its disk fails to read [^\n]*\n$/)
  await startServer(t, folder)
  load.assertAllIn(storePath)
  assert.ok(isIntact(storePath))
})

faultTest('an export that cannot be flushed to disk leaves no file under its name', async (t, folder) => {
  const { address } = await startServer(t, folder)
  await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  // The first flush of the process is that of the file. A rename before the flush would leave the file.
  const { code, stderr } = await run(t, ['export', 'plants.csv', '--url', address], {
    cwd: folder,
    env: { PLANTSTORE_TOKEN: TOKEN },
    under: failingDisk('fsync', 'when=1'),
  })
  assert.equal(stderr, 'plantstore: plants.csv: the device reports an I/O error\n')
  assert.equal(code, 1)
  const found = readdirSync(folder).filter((name) => name.includes('csv'))
  assert.deepEqual(found, [])
})
