import { CitusCluster, newCitusDatabase } from '../test/support/citus.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { type Contender, Running, SHIPPED, TOKEN } from './contender.ts'
import { type Effort, plot, sideBySide } from './measure.ts'
import { nameOf, tagOf } from './plants.ts'
import { compareDatabaseTime, type MeasuredStore } from './postgres.ts'

/** Plants of each store before it is measured. */
const PLANTS = 100_000

/**
 * Compares creates, reads and searches of a store on a coordinator and two workers, and what they cost the servers, with
 * those of a store on one PostgreSQL of the same build, all on this machine.
 *
 * @param build a folder with `bin/postgres` and the extension citus
 */
export async function measureCitus(build: string, { rounds, seconds }: Effort): Promise<void> {
  const plain = await PostgresServer.create({ build })
  const cluster = await CitusCluster.create(build)
  const servers = [cluster.coordinator, ...cluster.workers]
  const stores: MeasuredStore[] = []
  try {
    const distributed = await newCitusDatabase(cluster.url(), () => {})
    stores.push({ running: await filled('one PostgreSQL', plain.url()), servers: [plain], settle: async () => {} })
    stores.push({ running: await filled('Citus, two workers', distributed), servers, settle: async () => {} })
    const running = stores.map((store) => store.running)
    for (const [title, work, connections] of [
      ['Creates, 64 connections', 'create', 64],
      ['One plant by id, 64 connections', 'get', 64],
      ['50 plants found by two words, 4 connections', 'search', 4],
    ] as const)
      console.log(plot(title, await sideBySide(running, { connections, seconds, work }, { rounds })))
    await compareDatabaseTime(stores, { rounds, seconds })
  } finally {
    for (const { running } of stores) await running.stop()
    for (const server of [plain, cluster]) await server.close()
  }
}

/** Starts the service with a store of `PLANTS` plants, and tells how long their import took. */
async function filled(name: string, store: string): Promise<Running> {
  const contender: Contender = { ...SHIPPED, name, store }
  const running = await Running.start(contender, undefined, PLANTS)
  const plants = Array.from({ length: PLANTS }, (_, i) => ({ id: i + 1, name: nameOf(i + 1), tag: tagOf(i + 1) }))
  const startedAt = performance.now()
  const response = await fetch(`http://127.0.0.1:${running.port}/plants/import`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/x-ndjson' },
    body: plants.map((plant) => `${JSON.stringify(plant)}\n`).join(''),
  })
  const report = await response.text()
  if (!response.ok) throw new Error(`${name} refuses the import: ${report}`)
  console.log(`  ${name.padEnd(26)} imports ${PLANTS} plants in ${Math.round(performance.now() - startedAt)} ms`)
  return running
}
