import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CITUS_BUILD_VARIABLE, CITUS_VARIABLE, CitusCluster } from '../support/citus.ts'
import { cleanUp } from '../support/clean-up.ts'
import { createDatabase } from '../support/postgres.ts'
import { run } from '../support/process.ts'

test('the start refuses a worker that could lose acknowledged writes, by its name and setting', async (t) => {
  const cluster = await CitusCluster.create(process.env[CITUS_BUILD_VARIABLE] ?? '')
  cleanUp(t, () => cluster.close())
  process.env[CITUS_VARIABLE] = cluster.url()
  const url = await createDatabase(() => {})
  const [worker] = cluster.workers
  for (const setting of ['fsync', 'synchronous_commit']) {
    await worker?.stop()
    await worker?.start([`${setting}=off`])
    const { code, stderr } = await run(t, ['serve', '--port', '0'], { env: { PLANTSTORE_STORE: url } })
    assert.equal(code, 1, stderr)
    assert.match(stderr, new RegExp(`the worker 127\\.0\\.0\\.1:${worker?.port} has ${setting} off`))
  }
})
