import { execFileSync } from 'node:child_process'
import { createReadStream, mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { BARE, type Contender, canPin, Running, SHIPPED } from './contender.ts'
import { fill } from './fill.ts'
import type { LoadResult } from './load.ts'
import { median } from './measure.ts'
import { nameOf, queryOf, tagOf } from './plants.ts'
import { Searcher, type SearchResult } from './searcher.ts'

/** Seconds for which the bare server is measured before and after. */
const BARE_SECONDS = 10
const CONNECTIONS = 64
const BURST_SECONDS = 3
const BURSTS = 5

/**
 * Measures creates without a pause, with a search every 100 ms, by size of the store, on all cores and on one; then
 * imports.
 *
 * @param rows of the imported file
 */
export async function measureSustained(sizes: readonly number[], seconds: number, rows = 1_000_000): Promise<void> {
  for (const size of sizes) {
    const plants = `${size.toLocaleString('en')} plants`
    await bursts(`${plants}, all cores`, size, 0.65)
    await sustained(`${plants}, all cores`, size, seconds, 0.5)
    if (!canPin) continue
    await bursts(`${plants}, one core`, size, 0.45, 0)
    await sustained(`${plants}, one core`, size, seconds, 0.35, 0)
  }
  const file = plantFile(rows)
  await importOverHttp(file, rows)
  if (canPin) await importStraight(file, rows)
}

/** @returns the path of a file with so many plants */
function plantFile(count: number): string {
  const file = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.ndjson')
  const rows = Array.from({ length: count }, (_, i) =>
    JSON.stringify({ id: i + 1, name: nameOf(i + 1), tag: tagOf(i + 1) }),
  )
  writeFileSync(file, `${rows.join('\n')}\n`)
  return file
}

async function startStore(size: number, core: number | undefined): Promise<Running> {
  const store = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db')
  if (size > 0) fill(store, size)
  return Running.start(pinned(SHIPPED, core), store, size)
}

const pinned = (contender: Contender, core: number | undefined): Contender =>
  core === undefined ? contender : { ...contender, core }

/** Measures short bursts of creates by turns with the bare server, each after the index has caught up. */
async function bursts(what: string, size: number, floor: number, core?: number): Promise<void> {
  const bare = await Running.start(pinned(BARE, core))
  const store = await startStore(size, core)
  const ratios: number[] = []
  try {
    // The first round compiles the code, and does not count.
    for (let round = 0; round <= BURSTS; round++) {
      const yardstick = await create(bare, BURST_SECONDS, core)
      const burst = await create(store, BURST_SECONDS, core)
      await store.settled()
      if (round > 0) ratios.push(burst.perSecond / yardstick.perSecond)
    }
    console.log(`\n${BURSTS} bursts of creates for ${BURST_SECONDS} s, ${CONNECTIONS} connections, ${what}`)
    judge(
      `creates, of the bare server (${ratios.map((one) => one.toFixed(2)).join(', ')})`,
      median(ratios),
      floor,
      'at least',
    )
  } finally {
    await bare.stop()
    await store.stop()
  }
}

const create = (one: Running, seconds: number, core: number | undefined): Promise<LoadResult> =>
  one.load({ connections: CONNECTIONS, seconds, work: 'create' }, core === undefined ? undefined : 1)

async function sustained(what: string, size: number, seconds: number, floor: number, core?: number): Promise<void> {
  const bare = await Running.start(pinned(BARE, core))
  const store = await startStore(size, core)
  try {
    const first = await create(bare, BARE_SECONDS, core)
    const watch = new Watch(store)
    const searcher = new Searcher(store.port, store.token, () => size + 1000)
    const long = await create(store, seconds, core)
    const searched = await searcher.end()
    const behind = await watch.end()
    const last = await create(bare, BARE_SECONDS, core)
    const yardstick = (first.perSecond + last.perSecond) / 2
    console.log(`\nCreates for ${seconds} s without a pause, ${CONNECTIONS} connections, ${what}`)
    console.log(`  bare server ${Math.round(first.perSecond)}/s before and ${Math.round(last.perSecond)}/s after`)
    judge(
      `creates, of the bare server (${Math.round(long.perSecond)}/s)`,
      long.perSecond / yardstick,
      floor,
      'at least',
    )
    judge('p99 of creates, ms', long.p99, 20, 'at most')
    judgeSearches(searched, 100)
    judge('changes that the index was behind, at most', behind.most, 50_000, 'at most')
    judge('resident memory at its highest, MB', store.memory()?.peak ?? Number.NaN, 250, 'at most')
  } finally {
    await bare.stop()
    await store.stop()
  }
}

async function importOverHttp(file: string, rows: number): Promise<void> {
  const store = await startStore(0, undefined)
  try {
    const searcher = new Searcher(store.port, store.token, () => rows)
    const startedAt = performance.now()
    await send(store, file, rows)
    const seconds = (performance.now() - startedAt) / 1000
    const searched = await searcher.end()
    console.log(`\nImport of ${rows.toLocaleString('en')} plants over HTTP, with searches`)
    judge('plants a second', rows / seconds, 50_000, 'at least')
    judgeSearches(searched, 200)
  } finally {
    await store.stop()
  }
}

/**
 * Imports into a store that no service has open, on one core, then waits until a service on that core has indexed it.
 */
async function importStraight(file: string, rows: number): Promise<void> {
  const path = join(file, '..', 'straight.db')
  const program = [process.execPath, join(import.meta.dirname, '../bin/plantstore.js')]
  const args = ['import', file, '--store', `sqlite:${path}`, '--quiet']
  const importedAt = performance.now()
  execFileSync('taskset', ['-c', '0', ...program, ...args])
  const seconds = (performance.now() - importedAt) / 1000
  const servedAt = performance.now()
  const store = await Running.start(pinned(SHIPPED, 0), path, rows)
  try {
    for (;;) {
      const headers = { authorization: `Bearer ${store.token}` }
      const { status } = await fetch(`http://127.0.0.1:${store.port}/plants?q=${queryOf(rows)}`, { headers })
      if (status === 200) break
    }
    const searchable = (performance.now() - servedAt) / 1000
    console.log(`\nImport of ${rows.toLocaleString('en')} plants straight into a store, on one core`)
    judge('plants a second', rows / seconds, 100_000, 'at least')
    judge('seconds from the start of a service until it searches them', searchable, 15, 'at most')
  } finally {
    await store.stop()
  }
}

async function send(store: Running, file: string, rows: number): Promise<void> {
  const headers = { authorization: `Bearer ${store.token}`, 'content-type': 'application/x-ndjson' }
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: store.port, method: 'POST', path: '/plants/import', headers })
    sent.once('response', (response) => text(response).then(resolve, reject)).once('error', reject)
    createReadStream(file).pipe(sent)
  })
  if (!answer.includes(`"added":${rows},`)) throw new Error(`the import answered ${answer}`)
}

/** Samples the lag of the index from the metrics. */
class Watch {
  readonly #done: Promise<void>
  #most = 0
  #isOver = false

  constructor(store: Running) {
    this.#done = this.#run(store)
  }

  async end(): Promise<{ most: number }> {
    this.#isOver = true
    await this.#done
    return { most: this.#most }
  }

  async #run({ port, token }: Running): Promise<void> {
    while (!this.#isOver) {
      const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization: `Bearer ${token}` } })
      const behind = /^plantstore_search_index_behind (\d+)/m.exec(await answer.text())?.[1]
      this.#most = Math.max(this.#most, Number(behind))
      await sleep(500)
    }
  }
}

function judgeSearches({ searches, refused, p50, p99 }: SearchResult, floor: number): void {
  judge(`p99 of ${searches} searches for two words, ms (p50 ${p50.toFixed(1)})`, p99, floor, 'at most')
  judge('searches refused', refused, 0, 'at most')
}

function judge(what: string, value: number, floor: number, sign: 'at least' | 'at most'): void {
  const holds = sign === 'at least' ? value >= floor : value <= floor
  const shown = value >= 1000 ? Math.round(value).toLocaleString('en') : value.toFixed(2)
  console.log(`  ${holds ? 'holds ' : 'MISSED'} ${what}: ${shown} (${sign} ${floor.toLocaleString('en')})`)
}
