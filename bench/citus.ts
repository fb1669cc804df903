import { request } from 'node:http'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { distribute } from '../src/citus/distribute.ts'
import { readPostgresAddress } from '../src/settings/postgres-address.ts'
import { CitusCluster, joinedDatabase } from '../test/support/citus.ts'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { Running, SHIPPED } from './contender.ts'
import { type Effort, median, plot, sideBySide } from './measure.ts'
import { nameOf, tagOf } from './plants.ts'
import { compareDatabaseTime, type MeasuredStore } from './postgres.ts'

/** The floors, as ratios to one PostgreSQL in the same run. */
const FLOORS = { creates: 0.6, time: 3, imports: 0.5 }
/** Rows of an import. */
const ROWS = 50_000

/**
 * Measures creates and imports over HTTP on Citus with a coordinator and two workers, for each number of shards, and on
 * one PostgreSQL of the same build.
 */
async function measureCitus(build: string, shards: readonly number[], effort: Effort): Promise<void> {
  const plain = await PostgresServer.create({ build })
  const cluster = await CitusCluster.create(build)
  const servers = [cluster.coordinator, ...cluster.workers]
  const running: Running[] = []
  try {
    const stores = [await start('one PostgreSQL', plain.url(), [plain], running)]
    for (const count of shards) {
      const url = await joinedDatabase(cluster.url())
      await distribute(readPostgresAddress(url, {}), { shards: count, ...QUIET })
      stores.push(await start(`Citus, ${count} shards`, url, servers, running))
    }
    const load = { connections: 64, seconds: effort.seconds, work: 'create' } as const
    const creates = await sideBySide(running, load, { rounds: effort.rounds })
    console.log(plot('Creates, 64 connections', creates))
    const times = await compareDatabaseTime(stores, effort)
    const imports = await compareImports(running, effort.rounds)
    for (const [i, { contender }] of running.entries()) {
      if (i === 0) continue
      const [create = 0, time = Number.NaN, imported = 0] = [creates[i]?.ratio, times[i], imports[i]]
      const holds = create >= FLOORS.creates && !(time > FLOORS.time) && imported >= FLOORS.imports
      const figures = `creates ${create.toFixed(2)}, database time ${time.toFixed(2)}, imports ${imported.toFixed(2)}`
      console.log(`  ${holds ? 'holds ' : 'MISSED'} ${contender.name.padEnd(20)} ${figures}`)
    }
  } finally {
    for (const one of running) await one.stop()
    await cluster.close()
    await plain.close()
  }
}

const QUIET = { onStep: () => {}, onMoved: () => {}, onNotice: () => {} }

async function start(
  name: string,
  url: string,
  servers: readonly PostgresServer[],
  running: Running[],
): Promise<MeasuredStore> {
  const one = await Running.start({ ...SHIPPED, name, store: url })
  running.push(one)
  const settle = async () => {
    await query(url, 'VACUUM plants')
    for (const server of servers) await query(server.url(), 'CHECKPOINT')
  }
  return { running: one, servers, settle }
}

/** @returns for each store the ratio of its imported plants per second to those of the first one, in the same round */
async function compareImports(running: readonly Running[], rounds: number): Promise<number[]> {
  const ratios = running.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    const seconds: number[] = []
    for (const one of running) {
      // Negative ids, because the creates use positive ones.
      seconds.push(await importRows(one, -(round + 1) * ROWS))
      await one.settled()
    }
    for (const [i, each] of seconds.entries()) ratios[i]?.push((seconds[0] ?? 0) / each)
  }
  return ratios.map(median)
}

/** @returns the seconds that an import of ROWS plants takes */
async function importRows({ port, token }: Running, firstId: number): Promise<number> {
  const rows = Array.from({ length: ROWS }, (_, i) =>
    JSON.stringify({ id: firstId + i, name: nameOf(i + 1), tag: tagOf(i + 1) }),
  )
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson' }
  const startedAt = performance.now()
  const answer = await new Promise<string>((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: '/plants/import', headers })
    sent.on('response', (response) => text(response).then(resolve, reject)).on('error', reject)
    sent.end(`${rows.join('\n')}\n`)
  })
  if (!answer.includes(`"added":${ROWS},`)) throw new Error(`the import answered ${answer}`)
  return (performance.now() - startedAt) / 1000
}

const { values } = parseArgs({
  options: {
    build: { type: 'string' },
    shards: { type: 'string', default: '4,8,32' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
  },
})
if (values.build === undefined) {
  console.error('Give a build of PostgreSQL with the extension citus, as --build FOLDER with FOLDER/bin/postgres.')
  process.exit(2)
}
const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds) }
console.log(
  `Node ${process.version}, ${availableParallelism()} cores, ${effort.rounds} rounds of ${effort.seconds} s each\n`,
)
await measureCitus(values.build, values.shards.split(',').map(Number), effort)
