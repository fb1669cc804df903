import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { BARE, type Contender, Running, SHIPPED, variant } from './contender.ts'
import { type Effort, median, plot, sideBySide } from './measure.ts'

/** Creates a second in groups, of those with an INSERT each through a pool of ten. */
const FLOOR = 2.5

/**
 * Creates in a PostgreSQL on the same cores: with an INSERT each through a pool of ten connections, and as it ships, with
 * the processor time that each costs the database.
 */
export async function measurePostgres({ rounds, seconds }: Effort, more: readonly Contender[] = []): Promise<void> {
  const server = await PostgresServer.create()
  const running: Running[] = []
  try {
    const contenders = [
      variant('one INSERT per create', 'one-insert-per-create'),
      { ...SHIPPED, name: 'PostgreSQL as it ships' },
      ...more,
    ]
    running.push(await Running.start(BARE))
    for (const [i, contender] of contenders.entries()) {
      await query(server.url(), `CREATE DATABASE contender${i}`)
      running.push(await Running.start({ ...contender, store: server.url(`contender${i}`) }))
    }
    const measured = await sideBySide(running, { connections: 64, seconds, work: 'create' }, { rounds })
    console.log(plot('Creates in PostgreSQL, 64 connections, all cores', measured))
    const [, single, shipped] = measured
    const gain = (shipped?.perSecond ?? 0) / (single?.perSecond ?? 1)
    console.log(`  ${gain >= FLOOR ? 'holds' : 'MISSED'}: groups, ${gain.toFixed(2)} of a floor of ${FLOOR}\n`)
    await databaseTime(server, running.slice(1), rounds, seconds)
  } finally {
    for (const one of running) await one.stop()
    await server.close()
  }
}

/** Processor time of the whole server, of which only the work for one contender at a time is left. */
async function databaseTime(
  server: PostgresServer,
  running: readonly Running[],
  rounds: number,
  seconds: number,
): Promise<void> {
  if (process.platform !== 'linux') {
    console.log('  Processor time of the database: not measured, as only Linux tells it.\n')
    return
  }
  const costs = running.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, one] of running.entries()) {
      // What was left for later is done, so that each pays for its own.
      await query(server.url(`contender${i}`), 'VACUUM plants')
      await query(server.url(), 'CHECKPOINT')
      const before = ticks()
      const { acknowledged } = await one.load({ connections: 64, seconds, work: 'create' })
      await query(server.url(`contender${i}`), 'VACUUM plants')
      costs[i]?.push(((ticks() - before) * 10_000) / acknowledged)
    }
  }
  for (const [i, one] of running.entries()) {
    console.log(
      `  ${one.contender.name.padEnd(26)} ${median(costs[i] ?? []).toFixed(1)} µs of the database for a create`,
    )
  }
  console.log()
}

/** Hundredths of a second of processor time that all processes named postgres have used, ended ones included. */
function ticks(): number {
  let sum = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${pid}/stat`)
    if (!stat.includes('(postgres)')) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // utime, stime, and those of ended children: fields 14 to 17, counted from 1, of which two were cut off.
    sum += [11, 12, 13, 14].reduce((total, at) => total + Number(fields[at]), 0)
  }
  return sum
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      more: { type: 'string', multiple: true, default: [] },
    },
  })
  console.log(
    `Node ${process.version}, ${availableParallelism()} cores, ${values.rounds} rounds of ${values.seconds} s each\n`,
  )
  const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds) }
  await measurePostgres(
    effort,
    values.more.map((each) => variant(each, each)),
  )
}
