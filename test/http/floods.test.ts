import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { suite, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tempFolder } from '../support/files.ts'
import { send } from '../support/load.ts'
import { isLinux, notTestedHere, systemBacklog } from '../support/not-tested.ts'
import { type Program, type Served, startServer, TOKEN } from '../support/process.ts'
import { RawConnection } from '../support/raw.ts'

/** So few connections that the system resets none of them before the service accepts them. */
const CONNECTIONS = Math.min(400, Math.floor(systemBacklog() / 2))
const MIB = 2 ** 20
const FIELDS = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\n`
const LARGE = 'x'.repeat(MIB - 100)
/** Longer than the service may take to notice that the clients of a flood have left. */
const TIMEOUTS = ['--request-timeout', '6m', '--stall-timeout', '2m']
/** Milliseconds in which a create must succeed: a second on a quiet machine. */
const SOON = 10_000

/** The service under test, in a process of its own. */
class Flooded {
  readonly #program: Program
  readonly #address: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #id = 100

  constructor({ program, address }: Served) {
    this.#program = program
    this.#address = address
  }

  static async start(t: TestContext): Promise<Flooded> {
    const flooded = new Flooded(await startServer(t, tempFolder(t), TIMEOUTS))
    for (let id = 0; id < 3; id++) assert.equal(await flooded.#create(JSON.stringify({ id, name: LARGE })), 200)
    return flooded
  }

  async metric(name: string): Promise<number> {
    const response = await fetch(`${this.#address}/metrics`, { headers: { Authorization: `Bearer ${TOKEN}` } })
    return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await response.text())?.[1])
  }

  /**
   * Sends the bytes on many connections that read nothing, while another client creates plants over an old connection
   * and over new ones. Its creates must succeed, and the service must release all resources of the flood.
   *
   * @returns the maximum growth of the process, in MiB
   */
  async flood(bytes: string): Promise<number> {
    const before = await this.metric('process_resident_memory_bytes')
    const port = Number(new URL(this.#address).port)
    const connections = Array.from({ length: CONNECTIONS }, () => {
      const connection = new RawConnection(port)
      connection.socket.pause()
      connection.write(bytes)
      return connection
    })
    let most = before
    for (let round = 0; round < 15; round++) {
      await sleep(200)
      for (const agent of [this.#agent, undefined]) {
        assert.equal(await this.#create(`{"id":${this.#id++},"name":"x"}`, agent), 200)
      }
      most = Math.max(most, await this.metric('process_resident_memory_bytes'))
    }
    const left = performance.now()
    for (const { socket } of connections) socket.destroy()
    await this.#untilLeft()
    const took = performance.now() - left
    assert.ok(took < SOON, `the last client was noticed after ${Math.round(took)} ms`)
    return (most - before) / MIB
  }

  async #create(body: string, agent?: Agent): Promise<number> {
    const sending = { body, ...(agent === undefined ? {} : { agent }) }
    try {
      return (await send('POST', `${this.#address}/plants`, sending)).status
    } catch (cause) {
      const { isRunning, stderr } = this.#program
      throw new Error(`a create failed; the service ${isRunning ? 'runs' : 'has ended'}: ${stderr}`, { cause })
    }
  }

  async #untilLeft(): Promise<void> {
    // The connections of this client stay: those of the agent and of fetch.
    while ((await this.metric('plantstore_connections')) > 5) await sleep(50)
    // One of five may still be of the flood.
    for (const held of ['pipelined_bytes', 'unread_answer_bytes', 'body_bytes']) {
      while ((await this.metric(`plantstore_${held}`)) > 0) await sleep(50)
    }
  }
}

async function assertBounded(t: TestContext, bytes: string, most: number): Promise<void> {
  if (!isLinux) return notTestedHere(t, 'the memory of another process, because only Linux tells it')
  const grown = await (await Flooded.start(t)).flood(bytes)
  assert.ok(grown < most, `${Math.round(grown)} MiB`)
}

suite(`memory is bounded and another client is served while ${CONNECTIONS} connections read nothing and send`, () => {
  test('thousands of small requests', (t) =>
    assertBounded(t, 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3000), 400))

  test('requests for large pages of plants', (t) =>
    assertBounded(t, `GET /plants?limit=3 HTTP/1.1\r\n${FIELDS}\r\n`.repeat(50), 500))

  test('requests for a large plant', (t) => assertBounded(t, `GET /plants/1 HTTP/1.1\r\n${FIELDS}\r\n`.repeat(50), 500))

  // 128 MiB of bodies of one token, and as much again that is garbage. Without the limit they take 650.
  test('bodies that never end', (t) =>
    assertBounded(
      t,
      `POST /plants HTTP/1.1\r\n${FIELDS}Content-Type: application/json\r\nContent-Length: ${MIB}\r\n\r\n${LARGE}`,
      400,
    ))

  test('half of a head', (t) => assertBounded(t, 'GET /health/li', 100))

  test('nothing at all', (t) => assertBounded(t, '', 100))

  test('requests for exports', (t) => assertBounded(t, `GET /plants/export HTTP/1.1\r\n${FIELDS}\r\n`, 200))
})

test(`a new client is served while ${CONNECTIONS} new connections ask for large pages`, async (t) => {
  if (!isLinux) return notTestedHere(t, 'connections to a stopped process, because only Linux is known to keep them')
  const { program, address } = await startServer(t, tempFolder(t), ['--log-level', 'debug'])
  for (let id = 0; id < 3; id++) {
    assert.equal((await send('POST', `${address}/plants`, { body: JSON.stringify({ id, name: LARGE }) })).status, 200)
  }
  // All requests are there when the service continues, so only the service decides on their order.
  program.signal('SIGSTOP')
  const connect = async (bytes: string) => {
    const connection = new RawConnection(Number(new URL(address).port))
    connection.socket.pause()
    await once(connection.socket, 'connect')
    connection.write(bytes)
    return connection
  }
  const page = `GET /plants?sort=name&limit=3 HTTP/1.1\r\n${FIELDS}\r\n`
  const readers = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(page)))
  const plant = '{"id":100,"name":"x"}'
  const headers = `${FIELDS}Content-Type: application/json\r\nContent-Length: ${plant.length}\r\n`
  const writer = await connect(`POST /plants HTTP/1.1\r\n${headers}\r\n${plant}`)
  program.signal('SIGCONT')
  writer.socket.resume()
  await writer.until('"name":"x"')
  const answers = program.stderr.split('\n').filter((line) => line.includes('"msg":"answered"'))
  const created = answers.findLastIndex((line) => line.includes('"createPlant"'))
  const before = created < 3 ? answers : answers.slice(0, created)
  const pages = before.filter((line) => line.includes('"listPlants"')).length
  for (const { socket } of readers) socket.destroy()
  // The service accepts one connection in a turn of the event loop, and begins a page in every eighth of these turns.
  assert.ok(pages < CONNECTIONS / 4, `${pages} pages were answered before the plant was created`)
})
