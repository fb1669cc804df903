import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { isIntact, tempFolder } from './support/files.ts'
import { fullPlants, importRows } from './support/full-plants.ts'
import { Load, send } from './support/load.ts'
import { LONG_NAME } from './support/long-normalising.ts'
import { startServer, TOKEN } from './support/process.ts'
import { answersIn, RawConnection } from './support/raw.ts'
import { happens, until } from './support/until.ts'

test('SIGTERM under load loses nothing, and fails no client that heeds Connection: close', async (t) => {
  const { program, address, storePath } = await startServer(t, tempFolder(t))
  const load = new Load(address, { clients: 32 })
  await load.reaches(500)
  program.signal('SIGTERM')
  await load.done
  const { code, stderr } = await program.outcome
  assert.deepEqual([load.broken, [...load.refused]], [[], []], 'no request failed')
  assert.deepEqual([code, stderr], [0, ''])
  load.assertAllIn(storePath)
  assert.ok(isIntact(storePath))
})

test('during the drain window the service answers, is not ready, and closes each connection', async (t) => {
  const { program, address } = await startServer(t, tempFolder(t), ['--drain-window', '5m'])
  // A connection that is open at the signal makes the service wait for the drain window.
  const idle = connect(Number(new URL(address).port))
  await happens(idle, 'connect', 'the service accepts no connection')
  program.signal('SIGTERM')
  let ready = await send('GET', `${address}/health/ready`)
  while (ready.status === 200) ready = await send('GET', `${address}/health/ready`)
  assert.partialDeepStrictEqual(ready, { status: 503, error: 50303, closes: true })
  const created = await send('POST', `${address}/plants`, { body: '{"id":1,"name":"a"}' })
  assert.partialDeepStrictEqual(created, { status: 200, error: undefined, closes: true })
  assert.equal((await send('GET', `${address}/health/live`)).status, 200)
  assert.ok(program.isRunning)
  idle.destroy()
  await happens(idle, 'close', 'the connection stays')
  // A client that has left may return during the drain window.
  assert.equal((await send('GET', `${address}/health/live`)).status, 200)
})

test('a second signal ends the service at once', async (t) => {
  const { program, address } = await startServer(t, tempFolder(t), ['--drain-window', '5m'])
  const idle = connect(Number(new URL(address).port))
  await happens(idle, 'connect', 'the service accepts no connection')
  program.signal('SIGTERM')
  await until(async () => (await send('GET', `${address}/health/ready`)).status !== 200, 'the service stays ready')
  program.signal('SIGINT')
  assert.equal((await program.outcome).code, 130)
  idle.destroy()
})

test('a search index that is in one long call delays the end by five seconds at most', async (t) => {
  const folder = tempFolder(t)
  const nodeArgs = ['--import', import.meta.resolve('./support/long-normalising.ts')]
  const { program, address, storePath } = await startServer(t, folder, [], { nodeArgs })
  const body = JSON.stringify({ id: 1, name: LONG_NAME })
  assert.equal((await send('POST', `${address}/plants`, { body })).status, 200)
  await program.tells(/the search index is in a long call/)
  program.signal('SIGTERM')
  const { code, stderr } = await program.outcome
  assert.deepEqual([code, program.child.signalCode], [null, 'SIGKILL'])
  assert.match(stderr, /closing the store failed/)
  const next = await startServer(t, folder)
  assert.equal((await send('GET', `${next.address}/plants/1`)).status, 200)
  assert.equal((await send('GET', `${next.address}/plants?q=orchid`)).status, 200)
  assert.ok(isIntact(storePath))
})

test('SIGINT ends the service too, which without clients does not wait for the drain window', async (t) => {
  const { program } = await startServer(t, tempFolder(t), ['--drain-window', '5m'])
  program.signal('SIGINT')
  const { code, stderr } = await program.outcome
  assert.deepEqual([code, stderr], [0, ''])
})

test('a request that is incomplete at the end of the drain window gets 503, and idle connections end', async (t) => {
  const { program, address } = await startServer(t, tempFolder(t), ['--drain-window', '200ms'])
  const port = Number(new URL(address).port)
  const authorization = `Authorization: Bearer ${TOKEN}`
  const [body, head, silent] = [new RawConnection(port), new RawConnection(port), new RawConnection(port)]
  body.write(`POST /plants HTTP/1.1\r\nHost: a\r\n${authorization}\r\nContent-Type: application/json\r\n`)
  body.write('Content-Length: 100\r\nExpect: 100-continue\r\n\r\n')
  await body.until('100 Continue')
  body.write('{"id":1,')
  head.write('POST /plants HTTP/1.1\r\nHost: a\r\n')
  // The answer on a later connection, which stays open, shows that the service has received these bytes too.
  const agent = new Agent({ keepAlive: true })
  assert.equal((await send('GET', `${address}/health/live`, { agent })).status, 200)
  const began = performance.now()
  program.signal('SIGTERM')
  for (const connection of [body, head]) {
    const [answer] = answersIn(await connection.untilClosed()).filter(({ status }) => status !== 100)
    assert.equal(answer?.status, 503)
    assert.match(answer.body, /"error":50303/)
  }
  assert.equal((await silent.untilClosed()).length, 0)
  assert.equal((await program.outcome).code, 0)
  agent.destroy()
  t.diagnostic(`took ${Math.round(performance.now() - began)} ms`)
})

test('shutdown finishes an export within the drain window, and closes the store after the last answer', async (t) => {
  const { program, address } = await startServer(t, tempFolder(t), ['--drain-window', '50ms'])
  await importRows(address, fullPlants(10_000))
  const connection = new RawConnection(Number(new URL(address).port))
  connection.write(
    `GET /plants/export HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
  )
  await connection.until('{"id":0,')
  connection.socket.pause()
  program.signal('SIGTERM')
  const { port } = new URL(address)
  await until(async () => !(await accepts(Number(port))), 'the service still accepts connections')
  connection.socket.resume()
  const received = await connection.untilClosed()
  assert.equal(received.subarray(-5).toString(), '0\r\n\r\n', 'the last chunk came')
  assert.equal((await program.outcome).code, 0)
})

/** Whether the service still accepts connections. */
async function accepts(port: number): Promise<boolean> {
  const { socket } = new RawConnection(port)
  const opened = await Promise.race([
    new Promise<true>((resolve) => socket.once('connect', () => resolve(true))),
    new Promise<false>((resolve) => socket.once('close', () => resolve(false))),
  ])
  socket.destroy()
  return opened
}
