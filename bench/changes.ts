import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { type Contender, type Running, SHIPPED } from './contender.ts'
import { type Effort, median, together } from './measure.ts'
import { databaseTime } from './processor-time.ts'

const OFF: Contender = { ...SHIPPED, name: 'no log', program: [...SHIPPED.program, '--changes-keep', '0s'] }
const ON: Contender = { ...SHIPPED, name: 'log kept' }
/** Entries in each page of the measured pages. */
const PAGE = 1000

/** Milliseconds from the answer of a create to its event, at most. */
interface Latency {
  readonly p50: number
  readonly p99: number
}

/** Compares writes with and without the log of changes, and measures streams and pages, on both engines. */
export async function measureChanges(effort: Effort): Promise<void> {
  await measureEngine('SQLite', [OFF, ON], effort, { p50: 20, p99: 100 })
  const server = await PostgresServer.create()
  try {
    const contenders: Contender[] = []
    for (const [i, contender] of [OFF, ON].entries()) {
      await query(server.url(), `CREATE DATABASE contender${i}`)
      contenders.push({ ...contender, store: server.url(`contender${i}`) })
    }
    await measureEngine('PostgreSQL', contenders, effort, { p50: 150, p99: 400 }, server)
  } finally {
    await server.close()
  }
}

async function measureEngine(
  name: string,
  contenders: readonly Contender[],
  { rounds, seconds }: Effort,
  latency: Latency,
  server?: PostgresServer,
): Promise<void> {
  await together(contenders, async ([off, on]) => {
    if (off === undefined || on === undefined) throw new Error('two services run')
    const shares = { creates: [] as Cost[], streamed: [] as Cost[], updates: [] as Cost[] }
    let best = 0
    for (let round = 0; round < rounds; round++) {
      // Each service creates as often as the other, as updates cost more where more plants are stored. They begin in
      // turns: the first one pays for what the machine does at the end of a round.
      const compare = async (work: 'create' | 'update', streams = 0) => {
        const costs: Cost[] = []
        for (const i of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const one = [off, on][i] as Running
          const readers = one === on && streams > 0 ? await Readers.open(on, streams) : undefined
          costs[i] = await costOf(one, work, seconds, server)
          await readers?.close()
        }
        const [base, logged] = costs as [Cost, Cost]
        return { ratio: shareOf(logged, base), logged }
      }
      const creates = await compare('create')
      shares.creates.push(creates.ratio)
      shares.streamed.push((await compare('create', 10)).ratio)
      shares.updates.push((await compare('update')).ratio)
      best = Math.max(best, creates.logged.perSecond)
    }
    console.log(`${name}: writes with the log of changes, by those without, 64 connections`)
    report('creates', shares.creates, 0.97)
    report('creates with 10 streams', shares.streamed, 0.9)
    report('updates', shares.updates, 0.95)
    await measureLatency(on, best / 3, seconds, latency)
    await measurePages(on)
    await measureIdle(on)
  })
}

/** The rate of writes, and microseconds of the processor of the service and of its database for each. */
interface Cost {
  readonly perSecond: number
  readonly processor: number
}

async function costOf(
  one: Running,
  work: 'create' | 'update',
  seconds: number,
  server: PostgresServer | undefined,
): Promise<Cost> {
  const spent = () => one.processorTime() * 1e6 + (server === undefined ? 0 : databaseTime([server]) * 1000)
  const settle = async () => {
    await one.settled()
    if (server === undefined) return
    // What the database has postponed would slow the next service.
    if (one.contender.store !== undefined) await query(one.contender.store, 'VACUUM (ANALYZE)')
    await query(server.url(), 'CHECKPOINT')
  }
  await settle()
  const before = spent()
  const { perSecond, acknowledged } = await one.load({ connections: 64, seconds, work })
  await settle()
  return { perSecond, processor: (spent() - before) / acknowledged }
}

const shareOf = (one: Cost, base: Cost): Cost => ({
  perSecond: one.perSecond / base.perSecond,
  processor: one.processor / base.processor,
})

/** The processor time shows what the service spends, where the generator and the readers share its cores. */
function report(what: string, shares: readonly Cost[], least: number): void {
  const ratio = median(shares.map(({ perSecond }) => perSecond))
  const processor = median(shares.map((share) => share.processor))
  const verdict = ratio >= least ? 'holds ' : 'MISSED'
  const time = `${processor.toFixed(3)} of the processor time`
  console.log(`  ${verdict}  ${what.padEnd(26)} ${ratio.toFixed(3)} of at least ${least}; ${time}`)
}

/** A process that reads streams of changes. */
class Readers {
  readonly #process
  readonly #lines

  private constructor({ port, token }: Running, streams: number) {
    const options = JSON.stringify({ port, token, streams })
    const args = [join(import.meta.dirname, 'stream-readers.ts'), options]
    this.#process = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#process.stdout })
  }

  static async open(service: Running, streams: number): Promise<Readers> {
    const readers = new Readers(service, streams)
    await once(readers.#lines, 'line')
    return readers
  }

  async close(): Promise<void> {
    const ended = once(this.#process, 'exit')
    this.#process.stdin.end()
    await ended
  }
}

/** Milliseconds from the answer of a create to its event, while others create at a rate. */
async function measureLatency(service: Running, rate: number, seconds: number, most: Latency): Promise<void> {
  const stream = await Stream.open(service, 'now')
  const times: number[] = []
  const load = service.offer({ connections: 64, seconds, work: 'create', rate })
  const until = performance.now() + seconds * 1000
  for (let i = 0; performance.now() < until; i++) {
    const id = `-${Date.now()}${String(i).padStart(5, '0')}`
    const came = stream.next(id)
    const body = `{"id":${id},"name":"measured"}`
    const headers = { ...headersOf(service), 'Content-Type': 'application/json' }
    await fetch(`${urlOf(service)}/plants`, { method: 'POST', headers, body }).then((answer) => answer.text())
    const answeredAt = performance.now()
    times.push(Math.max(0, (await came) - answeredAt))
    await sleep(5)
  }
  await load
  stream.close()
  const sorted = times.sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)
  console.log(
    `From the answer of a create to its event: p50 ${at(0.5)} ms of ${most.p50}, p99 ${at(0.99)} ms of ${most.p99}`,
  )
}

/** Reads the log page by page. The processor time of the service tells its rate on a machine that does nothing else. */
async function measurePages(service: Running): Promise<void> {
  const [startedAt, before] = [performance.now(), service.processorTime()]
  let entries = 0
  for (let path = `/changes?limit=${PAGE}`; entries < 200_000; ) {
    const headers = { ...headersOf(service), 'Accept-Encoding': 'identity' }
    const answer = await fetch(urlOf(service) + path, { headers })
    const page = (await answer.text()).split('{"position":').length - 1
    entries += page
    path = /<(.*)>/.exec(answer.headers.get('Link') ?? '')?.[1] ?? path
    if (page === 0) break
  }
  const perSecond = Math.round((entries / (performance.now() - startedAt)) * 1000)
  const perProcessorSecond = Math.round(entries / (service.processorTime() - before))
  console.log(
    `Pages of ${PAGE}: ${perSecond.toLocaleString('en')} entries per second of at least 100,000; ` +
      `${perProcessorSecond.toLocaleString('en')} per second of the processor`,
  )
}

async function measureIdle(service: Running): Promise<void> {
  await service.settled()
  const before = service.memory()?.now ?? Number.NaN
  const streams = await Promise.all(Array.from({ length: 10 }, () => Stream.open(service, 'now')))
  await sleep(2000)
  const mb = ((service.memory()?.now ?? Number.NaN) - before) * 10
  console.log(`100 idle streams, by 10: ${mb.toFixed(1)} MB of at most 10`)
  for (const stream of streams) stream.close()
}

const urlOf = ({ port }: Running): string => `http://127.0.0.1:${port}`
const headersOf = ({ token }: Running) => ({ Authorization: `Bearer ${token}` })

/** A stream of changes that looks for ids, and drops all else. */
class Stream {
  readonly #ending = new AbortController()
  readonly #awaited = new Map<string, (at: number) => void>()

  static async open(service: Running, after: string): Promise<Stream> {
    const stream = new Stream()
    const headers = { ...headersOf(service), Accept: 'text/event-stream' }
    const signal = stream.#ending.signal
    const { body } = await fetch(`${urlOf(service)}/changes?after=${after}`, { headers, signal })
    if (body === null) throw new Error('the stream has no body')
    void stream.#read(body).catch(() => {})
    return stream
  }

  /** Resolves with the time of the event with this id. */
  next(id: string): Promise<number> {
    return new Promise((resolve) => this.#awaited.set(id, resolve))
  }

  close(): void {
    this.#ending.abort()
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    let rest = ''
    for await (const chunk of body) {
      const text = rest + Buffer.from(chunk).toString('latin1')
      // An event may come in two chunks.
      rest = text.slice(text.lastIndexOf('\n\n') + 2)
      if (this.#awaited.size === 0) continue
      for (const [id, resolve] of this.#awaited) {
        if (!text.includes(`"id":${id},`)) continue
        this.#awaited.delete(id)
        resolve(performance.now())
      }
    }
  }
}
