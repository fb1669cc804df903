import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Contender, Running, SHIPPED } from './contender.ts'
import { median, together } from './measure.ts'
import type { Received } from './webhook-receiver.ts'

const WITH_WEBHOOKS: Contender = { ...SHIPPED, program: [...SHIPPED.program, '--webhook-allow', 'loopback'] }
const CREATES = { connections: 64, work: 'create' } as const
/** Rounds of the comparison of two services. */
const ROUNDS = 5
const IDLE_ROUNDS = 8
const IDLE = 100
const LIVE = 80
const HANGING = 20
/** Creates per second while receivers hang, each of which goes to every webhook. */
const RATE = 10

/**
 * Measures deliveries to one receiver, and creates beside them; creates with idle webhooks; and deliveries beside
 * receivers that hang. The receiver runs on the same cores.
 *
 * @param seconds of the first of them
 */
export async function measureWebhooks(seconds: number): Promise<boolean> {
  const receiver = await Receiver.start()
  try {
    const verdicts = [
      ...(await measureBusy(receiver, seconds)),
      await measureIdle(receiver, seconds / 12),
      await measureHanging(receiver, seconds / 6),
    ]
    return verdicts.every((holds) => holds)
  } finally {
    receiver.stop()
  }
}

async function measureBusy(receiver: Receiver, seconds: number): Promise<readonly boolean[]> {
  const service = await Running.start(WITH_WEBHOOKS)
  try {
    const rate = async (wanted: number) => (await service.load({ ...CREATES, seconds: wanted })).perSecond
    // The first creates compile the code.
    await rate(seconds / 12)
    const before = await rate(seconds / 4)
    const { id } = await createWebhook(service, { url: receiver.url(), concurrency: 32 })
    await receiver.take()
    const startedAt = performance.now()
    const beside = await rate(seconds)
    const { count } = await receiver.take()
    const perSecond = (count / (performance.now() - startedAt)) * 1000
    await send(service, 'DELETE', `/webhooks/${id}`)
    const after = await rate(seconds / 4)
    const creates = beside / ((before + after) / 2)
    console.log(`One webhook with concurrency 32, for ${seconds} s: ${Math.round(beside)} creates/s beside it`)
    return [atLeast('deliveries per second', perSecond, 1000), atLeast('creates, to those without', creates, 0.8)]
  } finally {
    await service.stop()
  }
}

/**
 * By processor time, which other load of the machine disturbs less than rates. One process has the webhooks in every
 * other part, first and last in turn, because two processes of the same program already differ by a few percent.
 */
async function measureIdle(receiver: Receiver, seconds: number): Promise<boolean> {
  /** Of all creates without and with webhooks. */
  const costs: [number, number] = [0, 0]
  const service = await Running.start(WITH_WEBHOOKS)
  try {
    const cost = async (webhooks: number): Promise<number> => {
      const ids: string[] = []
      while (ids.length < webhooks) {
        ids.push((await createWebhook(service, { url: receiver.url(), types: ['plant.deleted'] })).id)
      }
      await service.settled()
      const before = service.processorTime()
      const { acknowledged } = await service.load({ ...CREATES, seconds })
      const spent = (service.processorTime() - before) / acknowledged
      for (const id of ids) await send(service, 'DELETE', `/webhooks/${id}`)
      return spent
    }
    // The first creates compile the code.
    await cost(0)
    for (let round = 0; round < IDLE_ROUNDS; round++) {
      // The second part of a round differs from the first one. Both orders together leave this out.
      for (const webhooks of round % 2 === 0 ? [0, IDLE] : [IDLE, 0])
        costs[webhooks === 0 ? 0 : 1] += await cost(webhooks)
    }
  } finally {
    await service.stop()
  }
  const [without, beside] = costs
  console.log(`${IDLE} idle webhooks, ${IDLE_ROUNDS} rounds`)
  return atLeast('creates, to those without, by processor time', without / beside, 0.98)
}

async function measureHanging(receiver: Receiver, seconds: number): Promise<boolean> {
  const ratios: number[] = []
  await together([WITH_WEBHOOKS, WITH_WEBHOOKS], async (services) => {
    for (const [i, service] of services.entries()) {
      for (let live = 0; live < LIVE; live++) await createWebhook(service, { url: receiver.url() })
      for (let hangs = 0; hangs < HANGING * i; hangs++) await createWebhook(service, { url: receiver.url('/hang') })
    }
    let nextId = 1
    for (let round = 0; round <= ROUNDS; round++) {
      const slowest: number[] = []
      for (const service of services) {
        await receiver.take()
        await createSteadily(service, seconds, nextId)
        nextId += Math.ceil(seconds * RATE)
        const { p50, p99, count } = await receiver.take()
        console.log(`  ${count} deliveries, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`)
        slowest.push(p99)
      }
      const [alone = Number.NaN, beside = Number.NaN] = slowest
      if (round > 0) ratios.push(beside / alone)
    }
  })
  const ratio = median(ratios)
  const holds = ratio <= 1.5
  console.log(`${LIVE} webhooks beside ${HANGING} that hang, ${ROUNDS} rounds of ${seconds} s`)
  console.log(`  ${holds ? 'holds ' : 'MISSED'}  p99, to that of alone: ${ratio.toFixed(2)} of at most 1.5`)
  return holds
}

function atLeast(what: string, value: number, floor: number): boolean {
  const holds = value >= floor
  const shown = value >= 10 ? Math.round(value).toLocaleString('en') : value.toFixed(3)
  console.log(`  ${holds ? 'holds ' : 'MISSED'}  ${what}: ${shown} of at least ${floor.toLocaleString('en')}`)
  return holds
}

class Receiver {
  readonly #process: ChildProcess
  readonly #port: number

  private constructor(process: ChildProcess, port: number) {
    this.#process = process
    this.#port = port
  }

  static async start(): Promise<Receiver> {
    const child = fork(join(import.meta.dirname, 'webhook-receiver.ts'))
    const [port] = (await once(child, 'message')) as [number]
    return new Receiver(child, port)
  }

  url(path = '/plants'): string {
    return `http://127.0.0.1:${this.#port}${path}`
  }

  /** Returns what came since the last call. */
  async take(): Promise<Received> {
    this.#process.send('take')
    const [received] = (await once(this.#process, 'message')) as [Received]
    return received
  }

  stop(): void {
    this.#process.disconnect()
  }
}

const createWebhook = (service: Running, body: object): Promise<{ id: string }> =>
  send(service, 'POST', '/webhooks', body) as Promise<{ id: string }>

/** Creates RATE plants a second, and waits for no answer before the next one. */
async function createSteadily(service: Running, seconds: number, firstId: number): Promise<void> {
  const creates: Promise<unknown>[] = []
  for (let i = 0; i < seconds * RATE; i++) {
    creates.push(send(service, 'POST', '/plants', { id: firstId + i, name: `Plant ${i}` }))
    await sleep(1000 / RATE)
  }
  await Promise.all(creates)
}

async function send({ port, token }: Running, method: string, path: string, body?: object): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, init)
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}
