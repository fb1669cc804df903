import { randomBytes } from 'node:crypto'
import { distribute } from '../../src/citus/distribute.ts'
import { readPostgresAddress } from '../../src/settings/postgres-address.ts'
import { PostgresServer } from './postgres-server.ts'
import { query } from './query.ts'

/** The variable with the address of a Citus coordinator with workers (`postgres://…`), where tests create databases. */
export const CITUS_VARIABLE = 'PLANTSTORE_TEST_CITUS'

/** Whether the stores of this run are distributed ones, which keep no log of changes. */
export const isDistributed = (): boolean => (process.env[CITUS_VARIABLE] ?? '') !== ''

/** The variable with a folder with `bin/postgres` and the extension citus, for tests that stop servers. */
export const CITUS_BUILD_VARIABLE = 'PLANTSTORE_TEST_CITUS_BUILD'

const SETTINGS = ['shared_preload_libraries=citus', 'citus.node_conninfo=sslmode=disable', 'max_connections=150']

/** A coordinator and two workers, each a process of its own on this machine. */
export class CitusCluster {
  readonly coordinator: PostgresServer
  readonly workers: readonly PostgresServer[]

  private constructor(coordinator: PostgresServer, workers: readonly PostgresServer[]) {
    this.coordinator = coordinator
    this.workers = workers
  }

  /** @param build a folder with `bin/postgres` and the extension citus */
  static async create(build: string): Promise<CitusCluster> {
    const servers: PostgresServer[] = []
    try {
      for (let i = 0; i < 3; i++) servers.push(await PostgresServer.create({ build, settings: SETTINGS }))
      const [coordinator, ...workers] = servers
      if (coordinator === undefined) throw new Error('no server was started')
      await joinCluster(
        coordinator.url(),
        workers.map((worker) => worker.url()),
      )
      return new CitusCluster(coordinator, workers)
    } catch (error) {
      for (const server of servers) await server.close()
      throw error
    }
  }

  url(): string {
    return this.coordinator.url()
  }

  async close(): Promise<void> {
    for (const server of [this.coordinator, ...this.workers]) await server.close()
  }
}

/** Makes the existing databases at these addresses a coordinator and its workers. */
async function joinCluster(coordinator: string, workers: readonly string[]): Promise<void> {
  for (const url of [coordinator, ...workers]) await query(url, 'CREATE EXTENSION IF NOT EXISTS citus')
  const { hostname, port } = new URL(coordinator)
  await query(coordinator, 'SELECT citus_set_coordinator_host($1, $2)', [hostname, Number(port)])
  for (const worker of workers) {
    const { hostname, port } = new URL(worker)
    await query(coordinator, 'SELECT citus_add_node($1, $2)', [hostname, Number(port)])
  }
}

/** The addresses of the workers of a coordinator, for its user and database. */
async function workersOf(coordinator: string): Promise<string[]> {
  const rows = await query<{ nodename: string; nodeport: number }>(
    coordinator,
    'SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY nodeid',
  )
  return rows.map(({ nodename, nodeport }) => {
    const url = new URL(coordinator)
    url.hostname = nodename
    url.port = String(nodeport)
    return url.href
  })
}

/** Empty databases of this process, which the next test uses instead of creating one. */
const free: string[] = []

/** The address of an empty store on the cluster of this coordinator, for one test. */
export async function newCitusDatabase(
  cluster: string,
  cleanUp: (work: () => Promise<void>) => unknown,
): Promise<string> {
  const url = free.pop() ?? (await createDatabase(cluster))
  cleanUp(async () => {
    const name = new URL(url).pathname.slice(1)
    const sql = 'SELECT datallowconn AS "isOpen" FROM pg_database WHERE datname = $1'
    const [database] = await query<{ isOpen: boolean }>(cluster, sql, [name])
    // The test has taken the database away.
    if (database?.isOpen !== true) return
    for (const table of ['plants', 'tokens', 'id_reservations', 'webhooks CASCADE'])
      await query(url, `TRUNCATE ${table}`)
    free.push(url)
  })
  return url
}

async function createDatabase(cluster: string): Promise<string> {
  const coordinator = await joinedDatabase(cluster)
  await distribute(readPostgresAddress(coordinator, {}), {
    shards: 4,
    onStep: () => {},
    onMoved: () => {},
    onNotice: () => {},
  })
  return coordinator
}

/** Creates a database without a store on all servers of this coordinator. @returns its address, with `citus://` */
export async function joinedDatabase(cluster: string): Promise<string> {
  const name = `plantstore_test_${randomBytes(6).toString('hex')}`
  const servers = [cluster, ...(await workersOf(cluster))]
  const urls = servers.map((server) => {
    const url = new URL(server)
    url.pathname = name
    return url.href
  })
  for (const server of servers) await query(server, `CREATE DATABASE ${name}`)
  process.once('beforeExit', async () => {
    // A test that has its own cluster has ended it before.
    for (const server of servers) await query(server, `DROP DATABASE ${name} WITH (FORCE)`).catch(() => {})
  })
  const [coordinator = '', ...workers] = urls
  await joinCluster(coordinator, workers)
  return coordinator.replace(/^\w+:/, 'citus:')
}
