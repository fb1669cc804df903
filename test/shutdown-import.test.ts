import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plantsIn, tempFolder } from './support/files.ts'
import { beginImport, chunk, LAST_CHUNK, outcomeOf, rowsFrom } from './support/import.ts'
import { send } from './support/load.ts'
import { type Server, startServer } from './support/process.ts'
import { SECRET } from './support/service.ts'
import { until } from './support/until.ts'

const start = (t: Parameters<typeof startServer>[0], window: string): Promise<Server> =>
  startServer(t, tempFolder(t), ['--drain-window', window], { env: { PLANTSTORE_TOKEN: SECRET } })

const portOf = ({ address }: Server) => ({ port: Number(new URL(address).port) })

/** Waits until the import has stored the third plant. */
async function untilThird({ address }: Server): Promise<void> {
  const third = () => send('GET', `${address}/plants/3`, { token: SECRET })
  await until(async () => (await third()).status === 200, 'the import does not store the third plant')
}

test('shutdown waits for an import that ends within the drain window', async (t) => {
  const server = await start(t, '5s')
  const connection = beginImport(portOf(server), rowsFrom(1, 3))
  await untilThird(server)
  server.program.signal('SIGTERM')
  const ready = () => send('GET', `${server.address}/health/ready`)
  await until(async () => (await ready()).status !== 200, 'the service stays ready')
  connection.write(chunk(rowsFrom(4, 2)) + LAST_CHUNK)
  const { status, added } = await outcomeOf(connection)
  assert.deepEqual([status, added], [200, 5])
  assert.equal((await server.program.outcome).code, 0)
  assert.equal(plantsIn(server.storePath).size, 5)
})

test('shutdown tells the client of a longer import how far it got, and stores only whole rows', async (t) => {
  const server = await start(t, '200ms')
  const connection = beginImport(portOf(server), `${rowsFrom(1, 3)}{"id":4,`)
  await untilThird(server)
  server.program.signal('SIGTERM')
  const { status, error, message } = await outcomeOf(connection)
  assert.deepEqual([status, error], [503, 50303])
  assert.match(message ?? '', /^the service is shutting down; all rows up to line 3 were processed \(3 added/)
  assert.equal((await server.program.outcome).code, 0)
  assert.equal(plantsIn(server.storePath).size, 3)
})
