import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contender, Running, SHIPPED } from './contender.ts'
import { fill } from './fill.ts'
import { median } from './measure.ts'
import type { OfferResult } from './offered-load.ts'
import type { Work } from './requests.ts'

/** The least ratio to the best throughput, at twice the load of that throughput. */
const FLOOR = 0.9
/** The most milliseconds of the 99th percentile of accepted requests. */
const LONGEST = 5000
const BEST = 64
/**
 * Each has one request in progress, so twice and eight times as many requests are under way as the best throughput
 * needs. At 2,000 the load generator is the slower process: the service's event loop is idle for half of the time.
 */
const OVERLOADS = [128, 512]
const PLANTS = 20_000

/** The service with a higher bound per address, because all connections come from one address. */
const CONTENDER: Contender = {
  ...SHIPPED,
  program: ['../bin/plantstore.js', 'serve', '--max-address-connections', '10000', '--log-level', 'error'],
}

/**
 * Offers the service twice as many requests as it answers at best, and prints the results.
 *
 * @returns whether all floors hold
 */
export async function measureOverload(rounds: number, seconds: number): Promise<boolean> {
  const path = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
  fill(path, PLANTS)
  const service = await Running.start(CONTENDER, path, PLANTS)
  let holds = true
  try {
    const works: readonly Work[] = ['create', 'get', 'page', 'search']
    for (const work of works) holds = (await measureOne(service, work, rounds, seconds)) && holds
    console.log(`memory: ${service.memory()?.peak.toFixed(0) ?? '?'} MB at its highest`)
  } finally {
    await service.stop()
  }
  return holds
}

type Offer = Parameters<Running['offer']>[0]

/** The results of one number of connections. */
interface Measured {
  readonly connections: number
  /** Throughput by the best, of each round. */
  readonly ratios: number[]
  /** Milliseconds of the 99th percentile of accepted requests, of each round. */
  readonly slowest: number[]
}

/** Measures one kind of requests. @returns whether its floors hold */
async function measureOne(service: Running, work: Work, rounds: number, seconds: number): Promise<boolean> {
  const overloads = OVERLOADS.map((connections): Measured => ({ connections, ratios: [], slowest: [] }))
  for (let round = 0; round < rounds; round++) {
    const start = service.processorTime()
    const best = await service.load({ connections: BEST, seconds, work })
    await service.settled()
    const time = processorTime(service.processorTime() - start, best.acknowledged)
    console.log(`${work}: best ${rate(best.perSecond)}, p99 ${best.p99.toFixed(1)} ms, ${time}`)
    for (const { connections, ratios, slowest } of overloads) {
      const offered = await offer(service, { connections, seconds, work, rate: 2 * best.perSecond })
      ratios.push(offered.perSecond / best.perSecond)
      slowest.push(offered.p99)
    }
  }
  const judged = overloads.map((one) => judge(work, one))
  console.log()
  return judged.every((holds) => holds)
}

/** Offers requests, and prints what came of them. */
async function offer(service: Running, options: Offer): Promise<OfferResult> {
  const start = service.processorTime()
  const offered = await service.offer(options)
  await service.settled()
  const time = processorTime(service.processorTime() - start, offered.sent)
  const figures = [
    `${rate(offered.perSecond)}, p50 ${offered.p50.toFixed(0)} ms, p99 ${offered.p99.toFixed(0)} ms, ${time}`,
    `refused ${rate(offered.refused)}, no free connection ${rate(offered.unsent)}, broken ${offered.broken}`,
  ]
  console.log(`  offered twice that over ${options.connections} connections: ${figures.join('; ')}`)
  return offered
}

function judge(work: Work, { connections, ratios, slowest }: Measured): boolean {
  const ratio = median(ratios)
  const p99 = median(slowest)
  const holds = ratio >= FLOOR && p99 <= LONGEST
  const figures = `${ratio.toFixed(2)} of its best (floor ${FLOOR}), p99 ${p99.toFixed(0)} ms (at most ${LONGEST})`
  console.log(`  ${holds ? 'holds' : 'MISSED'}: ${work} over ${connections} connections: ${figures}`)
  return holds
}

const processorTime = (seconds: number, requests: number): string =>
  `${((seconds * 1e6) / requests).toFixed(0)} µs of processor time each`

const rate = (perSecond: number): string => `${Math.round(perSecond).toLocaleString('en')}/s`
