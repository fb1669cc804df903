import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { WARM_UP } from './answers.ts'
import { type Contender, Running, SHIPPED } from './contender.ts'
import { FIRST_FOLDED, type FloodKind, type FloodOptions, FOLDED_PLANTS, foldedPlant, fullPlant } from './flood.ts'

const PLANTS = 1000
/** Milliseconds between two requests of the other client. */
const PACE = 20
/** Requests of one token over many connections, one at a time on each. */
const WIDE: readonly FloodKind[] = ['creates', 'patches', 'pages', 'largest pages', 'searches']
const CONNECTIONS = 400
/** The most milliseconds of the 95th percentile of the creates of others on PostgreSQL. */
const LONGEST_CREATE = 300
/** The same beside visits, which have no token. */
const LONGEST_BESIDE_VISITS = 50
/** Long answers over few connections that pipeline as many requests as there are connections. */
const DEEP: readonly FloodKind[] = ['largest pages', 'histories', 'changes']
const DEPTH = 16
/** The most milliseconds of the 99th percentile of the reads and of /health/live of others. */
const LONGEST_READ = 200
/** Names that fold to many characters, with the connections of their floods. */
const FOLDED: readonly (readonly [FloodKind, number])[] = [
  ['folded creates', CONNECTIONS],
  ['folded searches', DEPTH],
]
/** The most milliseconds of the 99th percentile of /health/live, and of the 95th of the searches of others beside them. */
const LONGEST_TURN = 50
const LONGEST_SEARCH = 1000

/** The service with a higher bound per address, because all connections come from one address. */
const CONTENDER: Contender = {
  ...SHIPPED,
  program: [
    ...['../bin/plantstore.js', 'serve', '--max-address-connections', '10000', '--log-level', 'error'],
    ...['--public', 'all', '--trusted-proxies', '127.0.0.1'],
  ],
}

/**
 * Floods each engine with requests of one token, whose plants are all full, and measures the requests of another one.
 *
 * @param seconds of each flood
 * @returns whether all floors hold
 */
export async function measureFloods(seconds: number): Promise<boolean> {
  const sqlite = await Running.start(CONTENDER)
  let holds = await measureEngine('SQLite', sqlite, seconds).finally(() => sqlite.stop())
  const server = await PostgresServer.create()
  try {
    await query(server.url(), 'CREATE DATABASE floods')
    const postgres = await Running.start({ ...CONTENDER, store: server.url('floods') })
    holds = (await measureEngine('PostgreSQL', postgres, seconds).finally(() => postgres.stop())) && holds
  } finally {
    await server.close()
  }
  return holds
}

async function measureEngine(engine: string, service: Running, seconds: number): Promise<boolean> {
  const other = await OtherClient.create(service)
  const measure = async (what: string, flood?: Partial<FloodOptions> & Pick<FloodOptions, 'kind'>) => {
    const flooding = flood && new Flood({ ...flood, connections: CONNECTIONS, depth: 1, ...flood }, service)
    await sleep(WARM_UP)
    const times = await other.measure(seconds)
    const answers = flooding?.end()
    const shown = Object.entries(times).map(([name, all]) => `${name} ${[0.5, 0.95, 0.99].map(at(all)).join(' / ')}`)
    if (answers?.good === 0) throw new Error(`the service answers none of the ${what}`)
    const got = answers === undefined ? '' : `; the flood got ${answers.good} answers 2xx, ${answers.refused} others`
    console.log(`  ${what.padEnd(32)} ${shown.join(', ')} ms at p50 / p95 / p99${got}`)
    await service.settled()
    return times
  }
  console.log(`${engine}, ${PLANTS} full plants`)
  await measure('beside nothing')
  let holds = true
  for (const kind of WIDE) {
    const { creates } = await measure(`beside ${CONNECTIONS} of ${kind}`, { kind })
    if (engine === 'PostgreSQL') holds = judge('creates, p95', quantile(creates, 0.95), LONGEST_CREATE) && holds
  }
  for (const kind of DEEP) {
    const times = await measure(`beside ${DEPTH} that pipeline ${kind}`, { kind, connections: DEPTH, depth: DEPTH })
    for (const name of ['reads', 'live'] as const)
      holds = judge(`${name}, p99`, quantile(times[name], 0.99), LONGEST_READ) && holds
  }
  const { creates } = await measure(`beside ${CONNECTIONS} of visits`, { kind: 'visits' })
  holds = judge('creates, p95', quantile(creates, 0.95), LONGEST_BESIDE_VISITS) && holds
  await other.import(Array.from({ length: FOLDED_PLANTS }, (_, i) => foldedPlant(FIRST_FOLDED + i)))
  for (const [kind, connections] of FOLDED) {
    const { live, searches } = await measure(`beside ${connections} of ${kind}`, { kind, connections })
    holds = judge('live, p99', quantile(live, 0.99), LONGEST_TURN) && holds
    holds = judge('searches, p95', quantile(searches, 0.95), LONGEST_SEARCH) && holds
  }
  console.log()
  return holds
}

function judge(what: string, measured: number, longest: number): boolean {
  const holds = measured <= longest
  console.log(`    ${holds ? 'holds' : 'MISSED'}: ${what} ${measured.toFixed(0)} ms (at most ${longest})`)
  return holds
}

const quantile = (sorted: readonly number[], q: number): number => sorted[Math.floor(sorted.length * q)] ?? Number.NaN
const at =
  (sorted: readonly number[]) =>
  (q: number): string =>
    quantile(sorted, q).toFixed(0)

/** A running flood. */
class Flood {
  readonly #process: ChildProcess
  #answers = { good: 0, refused: 0 }

  constructor(options: Omit<FloodOptions, 'port' | 'token' | 'plants'>, { port, token }: Running) {
    const all: FloodOptions = { ...options, port, token, plants: PLANTS }
    const args = [join(import.meta.dirname, 'flood.ts'), JSON.stringify(all)]
    this.#process = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#process.stdout?.setEncoding('utf8').on('data', (lines: string) => {
      this.#answers = JSON.parse(lines.trim().split('\n').at(-1) ?? '{}')
    })
  }

  end(): { readonly good: number; readonly refused: number } {
    this.#process.kill('SIGKILL')
    return this.#answers
  }
}

type Times = Record<'creates' | 'reads' | 'searches' | 'live', number[]>

/** Another client with a token of its own, which sends one request of each kind after the other. */
class OtherClient {
  readonly #port: number
  readonly #token: string
  readonly #agents = {
    creates: oneConnection(),
    reads: oneConnection(),
    searches: oneConnection(),
    live: oneConnection(),
  }
  #id = -1

  private constructor(port: number, token: string) {
    this.#port = port
    this.#token = token
  }

  /** Stores the full plants, a long history of the first one, and the token of the other client. */
  static async create({ port, token }: Running): Promise<OtherClient> {
    const operator = new OtherClient(port, token)
    await operator.import(Array.from({ length: PLANTS }, (_, i) => fullPlant(1 + i)))
    for (let i = 0; i < PLANTS; i++) {
      const body = fullPlant(PLANTS + i).replace(/"id":\d+,/, '')
      await operator.#send('PUT', '/plants/1', { type: 'application/json', body })
    }
    const asked = JSON.stringify({ name: 'another', scopes: ['plants:read', 'plants:write'] })
    const { secret } = JSON.parse(await operator.#send('POST', '/tokens', { type: 'application/json', body: asked }))
    return new OtherClient(port, secret)
  }

  /** @param plants lines of NDJSON */
  async import(plants: readonly string[]): Promise<void> {
    await this.#send('POST', '/plants/import', { type: 'application/x-ndjson', body: plants.join('\n') })
  }

  /** @returns sorted milliseconds */
  async measure(seconds: number): Promise<Times> {
    const times: Times = { creates: [], reads: [], searches: [], live: [] }
    const end = performance.now() + seconds * 1000
    const repeat = async (kind: keyof Times, once: () => Promise<string>) => {
      while (performance.now() < end) {
        const startedAt = performance.now()
        await once()
        times[kind].push(performance.now() - startedAt)
        await sleep(PACE)
      }
      times[kind].sort((a, b) => a - b)
    }
    const { creates, reads, searches, live } = this.#agents
    await Promise.all([
      repeat('creates', () =>
        this.#send('POST', '/plants', {
          type: 'application/json',
          body: `{"id":${this.#id--},"name":"Acer palmatum"}`,
          agent: creates,
        }),
      ),
      repeat('reads', () => this.#send('GET', '/plants/1', { agent: reads })),
      repeat('searches', () => this.#send('GET', '/plants?q=palmatum&sort=name&limit=10', { agent: searches })),
      repeat('live', () => this.#send('GET', '/health/live', { agent: live })),
    ])
    return times
  }

  /** @throws Error for an answer that is not 2xx: nobody else's flood may get this client refused */
  async #send(
    method: string,
    path: string,
    { type, body, agent }: { readonly type?: string; readonly body?: string; readonly agent?: Agent } = {},
  ): Promise<string> {
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      ...(body !== undefined && { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) }),
    }
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      request({ port: this.#port, method, path, headers, ...(agent && { agent }) }, resolve)
        .on('error', reject)
        .end(body)
    })
    const content = await text(answer)
    if (Math.floor((answer.statusCode ?? 0) / 100) !== 2)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${content}`)
    return content
  }
}

const oneConnection = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 })
