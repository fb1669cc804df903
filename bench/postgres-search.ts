import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import type { NewPlant } from '../src/domain/plant.ts'
import { words } from '../src/domain/plant-query.ts'
import { PostgresStore } from '../src/postgres/store.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { TESTER } from '../test/support/actor.ts'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { chance, epithet, GENERA, genus, plantOf, TAGS, tag } from './collection.ts'
import { Running, SHIPPED, TOKEN } from './contender.ts'
import { databaseTime } from './processor-time.ts'

const CLIENTS = 2
const QUERIES = 200
/** Queries of each kind before the measured ones. */
const WARM_UP = 20
const ORDERS = ['id', '-id', 'name', '-name']

/** The kinds of queries. Each makes its n-th text from existing plants. */
const KINDS: Readonly<Record<string, (n: number) => string>> = {
  'one frequent word': (n) => genus(n % 20),
  'one rare word': (n) => genus(GENERA - 1 - n),
  'the beginning of a word': (n) => genus(n).slice(0, 3 + (n % 4)),
  'a word of any plant': (n) => anyWords(n)[n % 2] ?? '',
  'two words of a plant': (n) => anyWords(n).slice(0, 2).join(' '),
  'two frequent words': (n) => `${genus(n % 14)} ${epithet(n % 15)}`,
  'a frequent word behind the first': (n) => epithet(n % 20),
  'the beginning of such a word': (n) => epithet(n).slice(0, 3 + (n % 4)),
  'a word of the first or last names': (n) => (ORDERS[n % ORDERS.length] === 'name' ? LATE : EARLY),
  'such a word and two digits': (n) => `${n % 8 < 4 ? LATE : EARLY} ${10 + ((n * 7) % 90)}`,
  'two digits': (n) => String(10 + ((n * 7) % 90)),
  'two words and two digits': (n) => `${genus(n % 14)} ${epithet(n % 15)} ${10 + ((n * 7) % 90)}`,
  'a word and two digits': (n) => `${genus(n % 14)} ${10 + ((n * 7) % 90)}`,
  'three words': (n) => `${anyWords(n)[0]} ${tag(n % 50)}`,
  'a frequent word and none': (n) => `${genus(n % 20)} zzz${n}`,
  'no plant': (n) => `zzzz${n} yyyy`,
  'no word': () => '',
}

/** Words that only the last, or the first, eighth of the plants by name have. */
const [LATE, EARLY] = ['serotina', 'praecox']

/** A plant whose name ends with a number, as collections number their specimens: no statistics list its beginnings. */
function numbered(id: number): NewPlant {
  const { name, ...rest } = plantOf(id)
  const further = /^[XYZ]/.test(name) ? ` ${LATE}` : /^(Ba|Ce|Di)/.test(name) ? ` ${EARLY}` : ''
  return { ...rest, name: `${name}${further} ${10_000 + ((id * 7919) % 90_000)}` }
}

const anyWords = (n: number): string[] => words(plantOf(1 + Math.floor(chance(n, 99) * 500_000)).name)

/**
 * Searches a PostgreSQL store over HTTP: two clients send queries of every kind, in each order, with and without a tag.
 * Prints milliseconds, the processor time of the database, and missed floors.
 */
async function measure(plants: number, settings: readonly string[]): Promise<void> {
  const floor = plants > 5_000_000 ? 200 : plants > 1_000_000 ? 250 : 100
  // Autovacuum could end the moment that is measured first.
  const server = await PostgresServer.create({ settings: [...settings, 'autovacuum=off'] })
  try {
    await fill(server.url(), plants)
    console.log('Directly after an import by a role that may not vacuum: without statistics, nothing visible to all')
    await askAll(server, floor)
    await query(server.url(), 'VACUUM (ANALYZE) plants')
    console.log('\nWith statistics, vacuumed, as the service leaves the table after an import')
    await askAll(server, floor)
  } finally {
    await server.close()
  }
}

async function askAll(server: PostgresServer, floor: number): Promise<void> {
  const service = await Running.start({ ...SHIPPED, store: server.url() })
  try {
    // The first queries of a service also compile its code and prepare the statements of the sessions.
    for (const textOf of Object.values(KINDS)) await times(service.port, targetsOf(textOf, false).slice(-WARM_UP))
    for (const [kind, textOf] of Object.entries(KINDS)) {
      for (const tagged of [false, true]) {
        const targets = targetsOf(textOf, tagged)
        await ask(`${kind}${tagged ? ', with a tag' : ''}`, { server, port: service.port }, targets, floor)
      }
    }
    await ask('/tags', { server, port: service.port }, Array(QUERIES).fill('/tags'), floor)
  } finally {
    await service.stop()
  }
}

function targetsOf(textOf: (n: number) => string, tagged: boolean): string[] {
  return Array.from({ length: QUERIES }, (_, n) => {
    const parameters = new URLSearchParams({ sort: ORDERS[n % ORDERS.length] ?? 'id' })
    if (textOf(n) !== '') parameters.set('q', textOf(n))
    if (tagged) parameters.set('tag', tag(Math.floor(TAGS ** chance(n, 98))))
    return `/plants?${parameters}`
  })
}

async function fill(url: string, plants: number): Promise<void> {
  const options = { maxWaiting: 1, connections: 6, timeout: 60_000, retryTime: 0, create: true, onNotice: () => {} }
  const store = await PostgresStore.open(readPostgresAddress(url, {}), options)
  for (let first = 1; first <= plants; first += 1000) {
    const count = Math.min(1000, plants - first + 1)
    await store.importPlants(
      Array.from({ length: count }, (_, i) => numbered(first + i)),
      'add',
      TESTER,
    )
  }
  await store.close()
}

/** Sends the requests, and prints their times. */
async function ask(
  kind: string,
  { server, port }: { readonly server: PostgresServer; readonly port: number },
  targets: readonly string[],
  floor: number,
): Promise<void> {
  const before = databaseTime([server])
  const sorted = await times(port, targets)
  report(kind, sorted, floor, (databaseTime([server]) - before) / targets.length)
}

/** Milliseconds of each request, sorted. */
async function times(port: number, targets: readonly string[]): Promise<number[]> {
  const all: number[] = []
  let next = 0
  const client = async () => {
    for (let target = targets[next++]; target !== undefined; target = targets[next++]) {
      const start = performance.now()
      const response = await fetch(`http://127.0.0.1:${port}${target}`, {
        headers: { Authorization: `Bearer ${TOKEN}` },
      })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`${target} is answered ${response.status}`)
      all.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return all.sort((a, b) => a - b)
}

function report(kind: string, sorted: readonly number[], floor: number, processor: number): void {
  const at = (quantile: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] ?? Number.NaN
  const [p50, p99, longest, each] = [at(0.5), at(0.99), at(1), processor].map((ms) => `${ms.toFixed(1).padStart(6)} ms`)
  const verdict = at(0.99) <= floor ? 'holds ' : 'MISSED'
  console.log(`  ${verdict} ${kind.padEnd(38)} p50 ${p50}  p99 ${p99}  longest ${longest}  database ${each}`)
}

const { values } = parseArgs({
  options: {
    plants: { type: 'string', default: '1000000' },
    // Settings of postgresql.conf, such as shared_buffers=2GB.
    setting: { type: 'string', multiple: true, default: [] },
  },
})
console.log(`Node ${process.version}, ${availableParallelism()} cores, ${values.plants} plants, ${CLIENTS} clients\n`)
await measure(Number(values.plants), values.setting)
