import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresStore } from '../src/postgres/store.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { PointReader } from '../src/sqlite/read/point-reader.ts'
import { QueryReader } from '../src/sqlite/read/query-reader.ts'
import type { Task } from '../src/sqlite/worker/cooperative.ts'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { searchBuffers } from '../test/support/search-plans.ts'
import { Running, SHIPPED } from './contender.ts'
import { fill } from './fill.ts'
import { FILTERS, FOUND, grownPlant, pagesOf } from './grown.ts'
import { threadClock } from './processor-time.ts'
import { Searcher } from './searcher.ts'

/** The most times that a read of the largest store may cost what it costs in the smallest one. */
const MOST_TIMES = 2
/** Milliseconds below which a read is not compared: the first use of a cache decides about it. */
const LEAST = 0.2
/** The most ms of one step, MB of memory, and ms of 95 of 100 searches beside others among as many tags as plants. */
const [LONGEST_STEP, MOST_MEMORY, LONGEST_SEARCH] = [5, 250, 300]
/** Rounds of each read, and milliseconds, at least. */
const [ROUNDS, REPEATED] = [10, 300]
/** Searches of the other token at once. */
const BESIDE = 4

const clock = threadClock()

interface Cost {
  /** Milliseconds of processor time. */
  readonly time: number
  /** Milliseconds of the longest step, after which others have their turn. */
  readonly step: number
}

type Costs = Record<string, number>

/**
 * Compares what reads cost that find the same number of plants in stores of several sizes, by processor time on SQLite
 * and by pages of the server on PostgreSQL. Then measures searches beside the dearest ones of another token.
 *
 * @returns whether all floors hold
 */
export async function measureGrowth(sizes: readonly number[], seconds: number): Promise<boolean> {
  const times: Costs[] = []
  const verdicts: boolean[] = []
  for (const size of sizes) {
    const path = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
    fill(path, size, (id) => grownPlant(id, size))
    const costs = costsIn(path, size)
    times.push(Object.fromEntries(Object.entries(costs).map(([name, { time }]) => [name, time])))
    const [longest = ['', { step: 0 }]] = Object.entries(costs).toSorted(([, a], [, b]) => b.step - a.step)
    verdicts.push(atMost(`ms of the longest step of ${size} plants, ${longest[0]}`, longest[1].step, LONGEST_STEP))
    if (size === sizes.at(-1)) verdicts.push(...(await beside(path, size, seconds)))
    else rmSync(join(path, '..'), { recursive: true })
  }
  verdicts.push(...compare('SQLite, ms of processor time', sizes, times, LEAST))
  const buffers: Costs[] = []
  for (const size of sizes) buffers.push(await buffersOn(size))
  verdicts.push(...compare('PostgreSQL, pages of the server', sizes, buffers, FOUND))
  return verdicts.every((holds) => holds)
}

/** Measures each read in this thread. */
function costsIn(path: string, size: number): Record<string, Cost> {
  const points = new PointReader(path, raise)
  const reader = new QueryReader(path)
  const reads: Record<string, () => unknown> = { 'a plant by id': () => points.plants([BigInt(size / 2)]) }
  for (const [name, page] of Object.entries(pagesOf(size))) reads[name] = () => reader.listPlants(page, FOUND, false)
  for (const [name, filter] of Object.entries(FILTERS)) {
    reads[`a count, ${name}`] = () => reader.countMatches(filter, 1000, false)
    reads[`an export, ${name}`] = function* () {
      yield* reader.openExport(1, filter, 'id', false, false)
      while ((yield* reader.readExport(1)).ids.length > 0);
      reader.closeExport(1)
    }
  }
  reads['a page of tags'] = () => reader.listTags({ after: 'acc/5' }, FOUND, false)
  reads['a history'] = () => reader.history(BigInt(size / 2), undefined, FOUND)
  let after: string | undefined
  reads['a page of the feed'] = function* () {
    after = (yield* reader.readChanges({ tags: [], after, limit: FOUND })).next
  }
  const costs = Object.entries(reads).map(([name, read]) => [name, costOf(read)] as const)
  points.close()
  reader.close()
  return Object.fromEntries(costs)
}

const raise = (error: Error): never => {
  throw error
}

/** Repeats a read. The system counts processor time by ticks of some milliseconds, so only a sum of many is exact. */
function costOf(read: () => unknown): Cost {
  const steps: number[] = []
  const startedAt = performance.now()
  const before = clock()
  let count = 0
  for (; count < ROUNDS || performance.now() - startedAt < REPEATED; count++) {
    let from = performance.now()
    const outcome = read()
    for (let step = 0, isDone: boolean | undefined = !isTask(outcome); ; step++) {
      if (isTask(outcome)) isDone = outcome.next().done
      const now = performance.now()
      // Other programs interrupt some rounds. Each round takes the same steps.
      steps[step] = Math.min(steps[step] ?? Number.POSITIVE_INFINITY, now - from)
      from = now
      if (isDone === true) break
    }
  }
  return { time: (clock() - before) / count, step: Math.max(...steps) }
}

const isTask = (outcome: unknown): outcome is Task<unknown> =>
  typeof outcome === 'object' && outcome !== null && 'next' in outcome

/** Reads of the server for each page, in a store that a service has filled. */
async function buffersOn(size: number): Promise<Costs> {
  const server = await PostgresServer.create()
  try {
    await query(server.url(), 'CREATE DATABASE growth')
    const url = server.url('growth')
    const options = {
      maxWaiting: 1000,
      connections: 4,
      timeout: 60_000,
      retryTime: 0,
      create: true,
      onNotice: console.log,
    }
    const store = await PostgresStore.open(readPostgresAddress(url, {}), options)
    for (let first = 1; first <= size; first += 1000) {
      const part = Array.from({ length: Math.min(1000, size - first + 1) }, (_, i) => grownPlant(first + i, size))
      await store.importPlants(part, 'add', { id: 'bench', name: 'bench' })
    }
    await store.close()
    await query(url, 'VACUUM (ANALYZE)')
    return await searchBuffers(url, pagesOf(size), FOUND)
  } finally {
    await server.close()
  }
}

/** Searches by one token for the first plants by name with any tag, and measures searches of another one. */
async function beside(path: string, plants: number, seconds: number): Promise<boolean[]> {
  const service = await Running.start(SHIPPED, path, plants)
  try {
    const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' }
    const address = `http://127.0.0.1:${service.port}`
    const body = JSON.stringify({ name: 'another', scopes: ['plants:read'] })
    const { secret } = (await (await fetch(`${address}/tokens`, { method: 'POST', headers, body })).json()) as {
      readonly secret: string
    }
    const ending = new AbortController()
    const path = `${address}/plants?tagPrefix=acc/&q=alba&sort=name`
    const others = Array.from({ length: BESIDE }, async () => {
      while (!ending.signal.aborted) await (await fetch(path, { headers })).text()
    })
    const searcher = new Searcher(service.port, secret, () => plants)
    await sleep(seconds * 1000)
    const { p95, refused } = await searcher.end()
    ending.abort()
    await Promise.all(others)
    return [
      atMost(`ms of 95 of 100 searches beside ${BESIDE} among ${plants} tags`, p95, LONGEST_SEARCH),
      atMost('searches refused', refused, 0),
      atMost('MB of memory', service.memory()?.peak ?? 0, MOST_MEMORY),
    ]
  } finally {
    await service.stop()
  }
}

function compare(what: string, sizes: readonly number[], costs: readonly Costs[], least: number): boolean[] {
  console.log(`\n${what}, with ${sizes.map((size) => size.toLocaleString('en')).join(', ')} plants`)
  return Object.keys(costs[0] ?? {}).map((name) => {
    const all = costs.map((some) => some[name] ?? Number.NaN)
    const times = (all.at(-1) ?? 0) / Math.max(least, all[0] ?? 0)
    return atMost(
      `${name.padEnd(28)} ${all.map((cost) => cost.toFixed(2).padStart(9)).join('')}, times`,
      times,
      MOST_TIMES,
    )
  })
}

function atMost(what: string, figure: number, most: number): boolean {
  const holds = figure <= most
  console.log(`  ${holds ? 'holds ' : 'MISSED'} ${what} ${figure.toFixed(2)} (at most ${most})`)
  return holds
}
