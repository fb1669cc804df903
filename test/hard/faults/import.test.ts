import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plantsIn, tempFolder } from '../../support/files.ts'
import { beginImport, chunk, LAST_CHUNK, outcomeOf, rowsFrom } from '../../support/import.ts'
import { send } from '../../support/load.ts'
import { SECRET } from '../../support/service.ts'
import { startServerWithSizeLimit } from '../../support/size-limit.ts'
import { until } from '../../support/until.ts'

test('an import that fills the disk says how far it got, and repeating it completes it', async (t) => {
  const { address, storePath, sizeLimit } = await startServerWithSizeLimit(t, tempFolder(t), {
    PLANTSTORE_TOKEN: SECRET,
  })
  const port = Number(new URL(address).port)
  const connection = beginImport({ port }, rowsFrom(1, 100), 'Connection: close')
  const last = () => send('GET', `${address}/plants/100`, { token: SECRET })
  await until(async () => (await last()).status === 200, 'the import stores nothing')
  sizeLimit.set()
  // More rows than fit into free pages of the file.
  connection.write(chunk(rowsFrom(101, 5000)) + LAST_CHUNK)
  const { status, error, message } = await outcomeOf(connection)
  assert.deepEqual([status, error], [503, 50304])
  const [, line] = /^the store has no space left; all rows up to line (\d+) were processed /.exec(message ?? '') ?? []
  assert.equal(plantsIn(storePath).size, Number(line))
  sizeLimit.lift()
  const again = beginImport({ port }, rowsFrom(1, 5100), 'Connection: close')
  again.write(LAST_CHUNK)
  const { added, unchanged } = await outcomeOf(again)
  assert.deepEqual([added, unchanged], [5100 - Number(line), Number(line)])
  assert.equal(plantsIn(storePath).size, 5100)
})
