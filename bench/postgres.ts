import { query } from '../test/support/postgres.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { BARE, Running, SHIPPED, variant } from './contender.ts'
import { type Effort, median, plot, sideBySide } from './measure.ts'
import { canTellProcessorTime, databaseTime } from './processor-time.ts'

/** The least ratio of grouped creates per second to creates by single INSERTs through a pool of ten connections. */
const FLOOR = 2.5

/**
 * Measures creates in a PostgreSQL on the same cores, by single INSERTs through a pool of ten connections and as the
 * service ships, with the processor time of the database for each.
 */
export async function measurePostgres({ rounds, seconds }: Effort): Promise<void> {
  const server = await PostgresServer.create()
  const running: Running[] = []
  try {
    const contenders = [
      variant('one INSERT per create', 'one-insert-per-create'),
      { ...SHIPPED, name: 'PostgreSQL as it ships' },
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
    const stores = running.slice(1).map((one, i): MeasuredStore => {
      const settle = async () => {
        await query(server.url(`contender${i}`), 'VACUUM plants')
        await query(server.url(), 'CHECKPOINT')
      }
      return { running: one, servers: [server], settle }
    })
    await compareDatabaseTime(stores, { rounds, seconds })
  } finally {
    for (const one of running) await one.stop()
    await server.close()
  }
}

export interface MeasuredStore {
  readonly running: Running
  readonly servers: readonly PostgresServer[]
  /** Completes work that the database has postponed. */
  readonly settle: () => Promise<void>
}

/** Compares the processor time of the database servers, with load on one store at a time. */
export async function compareDatabaseTime(
  stores: readonly MeasuredStore[],
  { rounds, seconds }: Effort,
): Promise<void> {
  if (!canTellProcessorTime) {
    console.log('  Processor time of the database: not measured, because only Linux reports it.\n')
    return
  }
  const costs = stores.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [i, { running, servers, settle }] of stores.entries()) {
      // Completes postponed work, so that each store is charged only for its own.
      await settle()
      const before = databaseTime(servers)
      const { acknowledged } = await running.load({ connections: 64, seconds, work: 'create' })
      await settle()
      costs[i]?.push(((databaseTime(servers) - before) * 1000) / acknowledged)
    }
  }
  const medians = costs.map(median)
  const ratios = medians.map((cost) => cost / (medians[0] ?? 1))
  for (const [i, { running }] of stores.entries()) {
    const cost = `${medians[i]?.toFixed(1)} µs of the database for a create`
    console.log(`  ${running.contender.name.padEnd(26)} ${cost}, ${ratios[i]?.toFixed(2)} of the first`)
  }
  console.log()
}
