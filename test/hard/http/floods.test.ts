import assert from 'node:assert/strict'
import type { Agent } from 'node:http'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { hashSecret } from '../../../src/domain/token.ts'
import { BODY_LIMIT } from '../../../src/http/request/exchange.ts'
import { tempFolder } from '../../support/files.ts'
import { fullPlants, importRows } from '../../support/full-plants.ts'
import { send } from '../../support/load.ts'
import { isLinux, notTestedHere, systemBacklog } from '../../support/not-tested.ts'
import { storeAt } from '../../support/open-sqlite.ts'
import { type Program, type Served, startServer, TOKEN } from '../../support/process.ts'
import { RawConnection } from '../../support/raw.ts'
import { type Scrape, scrapeAt } from '../../support/scrape.ts'
import { clearTest, newAgent } from '../../support/transport.ts'
import { happens, until } from '../../support/until.ts'
import { token } from '../../token-suite.ts'

/** So few connections that the system resets none of them before the service accepts them. */
const CONNECTIONS = Math.min(400, Math.floor(systemBacklog() / 2))
const FIELDS = `Host: a\r\nAuthorization: Bearer ${TOKEN}\r\n`
const LIVE = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
/** Longer than the test waits for the service to notice that the clients of a flood have left. */
const TIMEOUTS = ['--request-timeout', '6m', '--stall-timeout', '2m']
/**
 * Seconds of processor time that the service spends on a flood which never ends: it holds the most after a third of
 * that, and its memory grows little after that.
 */
const WORK = 1.2
/** What the service holds for its clients. */
const HELD = ['max-connections', 'pipeline-limit', 'unread-limit', 'changes', 'change-queue']
/** As many as one page has. */
const TOKENS = 1000

/** The service under test, in a process of its own. */
class Flooded {
  readonly #program: Program
  readonly #address: string
  readonly #agent = newAgent({ keepAlive: true, maxSockets: 1 })
  #id = 2000

  constructor({ program, address }: Served) {
    this.#program = program
    this.#address = address
  }

  /** @param bytes the flood, which may read plants or tokens */
  static async start(t: TestContext, bytes: string): Promise<Flooded> {
    const folder = tempFolder(t)
    if (bytes.startsWith('GET /tokens')) await storeTokens(join(folder, 'plants.db'))
    const flooded = new Flooded(await startServer(t, folder, TIMEOUTS))
    if (bytes.startsWith('GET /plants')) await importRows(flooded.#address, fullPlants(1000))
    return flooded
  }

  /**
   * Sends the bytes on many connections that read nothing. Until the service has taken them in, or has worked on them
   * for a while, another client creates plants over an old connection and over new ones. Its creates must succeed, and
   * the service must release all resources of the flood.
   *
   * @returns the maximum growth of the process, in MiB
   */
  async flood(bytes: string): Promise<number> {
    const before = this.#program.memory('VmRSS')
    const port = Number(new URL(this.#address).port)
    const connections = Array.from({ length: CONNECTIONS }, () => {
      const connection = new RawConnection(port)
      connection.socket.pause()
      connection.write(bytes)
      return connection
    })
    const end = (await this.#metrics())('process_cpu_seconds_total') + WORK
    let [last, unchanged] = ['', 0]
    const isTakenIn = async () => {
      for (const agent of [this.#agent, undefined]) {
        assert.equal(await this.#create(`{"id":${this.#id++},"name":"x"}`, agent), 200)
      }
      const metric = await this.#metrics()
      const held = HELD.map((bound) => metric('plantstore_bound_used', { bound })).join()
      unchanged = held === last ? unchanged + 1 : 0
      last = held
      return unchanged === 10 || metric('process_cpu_seconds_total') > end
    }
    await until(isTakenIn, () => `the service does not take the flood in; it holds ${last}`)
    const grown = (this.#program.memory('VmHWM') - before) / 2 ** 20
    for (const { socket } of connections) socket.destroy()
    await this.#untilLeft()
    return grown
  }

  async #metrics(): Promise<(...which: Parameters<Scrape['value']>) => number> {
    // Over the old connection: the limits of fetch end a new one that waits behind those of the flood.
    const metrics = await scrapeAt(this.#address, this.#agent)
    return (...which) => metrics.value(...which) ?? assert.fail(String(which[0]))
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
    let left = ''
    const isReleased = async () => {
      const metric = await this.#metrics()
      const [connections = 0, ...bytes] = HELD.map((bound) => metric('plantstore_bound_used', { bound }))
      left = `${connections} connections and ${bytes.join(', ')} bytes`
      // The connection of the agent stays, and others of this client end a little later.
      return connections <= 5 && bytes.every((count) => count === 0)
    }
    await until(isReleased, () => `the service still holds ${left} for clients that have left`)
  }
}

const reservation = (length: number): string =>
  `POST /ids HTTP/1.1\r\n${FIELDS}Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

async function storeTokens(path: string): Promise<void> {
  const store = await storeAt(path)
  const all = Array.from({ length: TOKENS }, (_, i) => store.tokens.createToken(token('x'), hashSecret(String(i))))
  await Promise.all(all)
  await store.close()
}

suite(`memory is bounded and another client is served while ${CONNECTIONS} connections read nothing and send`, () => {
  /** Each flood meets a service of its own, as a process keeps memory that an earlier flood has made it take. */
  async function assertBounded(t: TestContext, bytes: string, most: number): Promise<void> {
    if (!isLinux) return notTestedHere(t, 'the memory of another process, because only Linux tells it')
    const grown = await (await Flooded.start(t, bytes)).flood(bytes)
    assert.ok(grown < most, `${Math.round(grown)} MiB`)
  }

  clearTest('nothing at all', (t) => assertBounded(t, '', 100))

  test('half of a head', (t) => assertBounded(t, 'GET /health/li', 100))

  clearTest('requests for exports', (t) => assertBounded(t, `GET /plants/export HTTP/1.1\r\n${FIELDS}\r\n`, 200))

  clearTest('hundreds of small requests', (t) => assertBounded(t, LIVE.repeat(300), 400))

  clearTest('bodies that never end', (t) =>
    assertBounded(
      t,
      `POST /plants HTTP/1.1\r\n${FIELDS}Content-Type: application/json\r\nContent-Length: ${BODY_LIMIT}\r\n\r\n${' '.repeat(BODY_LIMIT - 1)}`,
      200,
    ),
  )

  clearTest('requests for large pages of plants', (t) =>
    assertBounded(t, `GET /plants?limit=1000 HTTP/1.1\r\n${FIELDS}\r\n`.repeat(50), 500),
  )

  clearTest('requests for lists of tokens', (t) =>
    assertBounded(t, `GET /tokens?limit=${TOKENS} HTTP/1.1\r\n${FIELDS}\r\n`.repeat(5), 400),
  )

  clearTest('reservations of ids', (t) => assertBounded(t, `${reservation(15)}{"count":10000}`.repeat(5), 400))

  clearTest('half of a reservation', (t) =>
    assertBounded(t, `${reservation(16_000)}{"count":1${' '.repeat(8000)}`, 400),
  )

  test('requests for a full plant', (t) => assertBounded(t, `GET /plants/1 HTTP/1.1\r\n${FIELDS}\r\n`.repeat(50), 500))
})

clearTest(`a new client is served while ${CONNECTIONS} new connections ask for large pages`, async (t) => {
  if (!isLinux) return notTestedHere(t, 'connections to a stopped process, because only Linux is known to keep them')
  const service = await LargePages.start(t)
  service.stop()
  const readers = await Promise.all(Array.from({ length: CONNECTIONS }, () => service.connect()))
  const pages = await service.pagesBefore(await service.connect(), '', readers)
  // The service accepts one connection in a turn of the event loop, and begins pages in every eighth of these turns.
  assert.ok(pages < CONNECTIONS / 2, `${pages} pages were answered before the new client`)
})

clearTest('a client is served between the large pages that others have queued', async (t) => {
  if (!isLinux) return notTestedHere(t, 'bytes to a stopped process, because only Linux is known to keep them')
  const service = await LargePages.start(t)
  const readers = await Promise.all(Array.from({ length: 200 }, () => service.connect(LIVE)))
  const client = await service.connect(LIVE)
  service.stop()
  const pages = await service.pagesBefore(client, LIVE.repeat(10), readers)
  // A turn of the event loop answers one request of the client, and at most the eight searches that run at once.
  assert.ok(pages < 100, `${pages} pages were answered before eleven small requests`)
})

clearTest(`a token searches while ${CONNECTIONS} visitors of the public view ask for large pages`, async (t) => {
  if (!isLinux) return notTestedHere(t, 'bytes to a stopped process, because only Linux is known to keep them')
  const service = await LargePages.start(t, ['--public', 'all', '--trusted-proxies', '127.0.0.1'])
  const visitors = await Promise.all(Array.from({ length: CONNECTIONS }, () => service.connect(LIVE)))
  const client = await service.connect()
  service.stop()
  const pages = await service.pagesBefore(client, '', visitors, SEARCH)
  // All visitors together take turns with the token as one other token would. Four of them have places.
  assert.ok(pages <= 12, `${pages} pages were answered before the search of the token`)
  await service.refuses(
    /"listPlants".*"token":"public".*"error":42901,.*searches without a token are already in progress/,
  )
})

/** Requests of a client beside the readers, with a text of the answer. */
const READ = { path: '/plants/1001', operation: '"getPlant"', answer: '"error":40402' }
const SEARCH = { path: '/tags?limit=1', operation: '"listTags"', answer: '"plants":1' }

/** A service in a process of its own, with a thousand plants of the largest size. */
class LargePages {
  readonly #program: Program
  readonly #port: number
  /** The secrets of the readers; none for visitors. One token alone may only queue a hundred searches. */
  readonly #tokens: readonly string[]

  private constructor({ program, address }: Served, tokens: readonly string[]) {
    this.#program = program
    this.#port = Number(new URL(address).port)
    this.#tokens = tokens
  }

  /** @param view settings of a public view, whose visitors are the readers */
  static async start(t: TestContext, view: readonly string[] = []): Promise<LargePages> {
    const served = await startServer(t, tempFolder(t), ['--log-level', 'debug', ...view])
    await importRows(served.address, fullPlants(1000))
    // Returns once the index has these plants, without which no page by name is answered.
    assert.equal((await send('GET', `${served.address}/plants?sort=name&limit=1`)).status, 200)
    const tokens = (view.length > 0 ? [] : ['a', 'b', 'c', 'd']).map(async (name) => {
      const body = JSON.stringify({ name, scopes: ['plants:read'] })
      const created = await send('POST', `${served.address}/tokens`, { body })
      return (JSON.parse(created.body) as { secret: string }).secret
    })
    return new LargePages(served, await Promise.all(tokens))
  }

  /** @param request one that is answered with 200 before the connection counts */
  async connect(request?: string): Promise<RawConnection> {
    const connection = new RawConnection(this.#port)
    await happens(connection.socket, 'connect', 'the system keeps no connection')
    if (request !== undefined) {
      connection.write(request)
      await connection.until('HTTP/1.1 200')
    }
    return connection
  }

  /** Stops the process. All that it is sent from now on is there when it continues, so it alone decides on the order. */
  stop(): void {
    this.#program.signal('SIGSTOP')
  }

  /** Resolves once the log has such a refusal. */
  refuses(line: RegExp): Promise<void> {
    return this.#program.tells(line)
  }

  /**
   * Lets the process continue when readers have asked for pages, which they do not read, and a client for a plant.
   *
   * @param first requests of the client before that
   * @param wanted what the client asks for in place of the plant
   * @returns the number of pages that were answered before the client
   */
  async pagesBefore(
    client: RawConnection,
    first: string,
    readers: readonly RawConnection[],
    wanted = READ,
  ): Promise<number> {
    for (const [i, reader] of readers.entries()) {
      reader.socket.pause()
      const token = this.#tokens[i % this.#tokens.length]
      const who = token === undefined ? `X-Forwarded-For: 10.0.${i >> 8}.${i & 255}` : `Authorization: Bearer ${token}`
      reader.write(`GET /plants?sort=name&limit=1000 HTTP/1.1\r\nHost: a\r\n${who}\r\n\r\n`)
    }
    // A read, because a create would wait for the disk, and more pages come meanwhile.
    client.write(`${first}GET ${wanted.path} HTTP/1.1\r\n${FIELDS}\r\n`)
    this.#program.signal('SIGCONT')
    await client.until(wanted.answer)
    await this.#program.tells(new RegExp(wanted.operation))
    for (const { socket } of readers) socket.destroy()
    const lines = this.#program.stderr.split('\n')
    const before = lines.slice(
      0,
      lines.findIndex((line) => line.includes(wanted.operation)),
    )
    const pages = before.filter((line) => line.includes('"listPlants"') && line.includes('"status":200'))
    // Less the page of the start.
    return pages.length - 1
  }
}
