import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../base/operator-error.ts'
import { NO_HISTORY } from '../postgres/changes/history.ts'
import { openingError, sqlState } from '../postgres/errors.ts'
import { migrate, preflight } from '../postgres/migrate.ts'
import { budgetOf, PLANNER_SETTINGS, type Run, type TextRow } from '../postgres/pool/client.ts'
import { Pool } from '../postgres/pool/pool.ts'
import { PoolShare } from '../postgres/pool/pool-share.ts'
import type { PostgresAddress } from '../settings/postgres-address.ts'

/** Milliseconds for one step: moving the plants of a large store takes hours. */
const TRANSACTION_TIMEOUT = 7 * 24 * 60 * 60_000
/** Milliseconds for a statement that moves no plants. */
const TIMEOUT = 60_000
/** Milliseconds between two looks at the progress. */
const INTERVAL = 1000
/** Attempts, and the milliseconds between two, for which the server may list sessions of a program that has ended. */
const ENDING = 20
const ENDING_INTERVAL = 100
const INSUFFICIENT_PRIVILEGE = '42501'

export interface DistributeOptions {
  /** Shards of a store that is not distributed yet; undefined for SHARDS_PER_WORKER on each worker, at least SHARDS. */
  readonly shards: number | undefined
  readonly onStep: (text: string) => void
  /** Called while plants move. @param total an estimate of the database */
  readonly onMoved: (plants: number, total: number) => void
  readonly onNotice: (text: string) => void
}

/** Few shards make large groups of creates. A shard is the smallest unit that can move to another server. */
const SHARDS_PER_WORKER = 2
const SHARDS = 4

/**
 * Distributes a store over the workers of a Citus coordinator: the plants by their ids, the tokens as a copy on every
 * server. Creates the store if it does not exist. A repeated call skips the steps that are done, so it continues an
 * interrupted one.
 *
 * @throws OperatorError when the server can not distribute tables, or has distributed them in another way; also while
 *   others use the database
 */
export async function distribute(address: PostgresAddress, options: DistributeOptions): Promise<void> {
  const pool = new Pool({ address, max: 3, timeout: TIMEOUT, onTrouble: () => {} })
  try {
    const share = new PoolShare(pool, Number.POSITIVE_INFINITY)
    for (const notice of await preflight(share)) options.onNotice(notice)
    await new Distribution(share, options).run()
  } catch (error) {
    throw error instanceof OperatorError ? error : openingError(address, error)
  } finally {
    await pool.close()
  }
}

class Distribution {
  readonly #share: PoolShare
  readonly #options: DistributeOptions

  constructor(share: PoolShare, options: DistributeOptions) {
    this.#share = share
    this.#options = options
  }

  async run(): Promise<void> {
    await this.#ensureExtension()
    await this.#mustBeAlone()
    const workers = await this.#countWorkers()
    const { onStep } = this.#options
    if (await migrate(this.#share, true)) onStep('created a new store')
    if (await this.#isDistributed('tokens', 'n')) {
      onStep('tokens: every server has them already')
    } else {
      await this.#long("SELECT create_reference_table('tokens')")
      onStep('tokens: copied to every server')
    }
    if (await this.#isDistributed('plants', 'h:id')) onStep('plants: distributed already')
    else await this.#movePlants(workers)
    // Citus keeps the moved rows in the local part of each table on the coordinator, which no query reads.
    for (const table of ['tokens', 'plants']) {
      await this.#long(`SELECT truncate_local_data_after_distributing_table('${table}')`)
    }
    const [shards, servers] = await this.#row(PLACED)
    onStep(`done: ${shards} shards on ${servers} servers; its address begins with citus://`)
  }

  async #ensureExtension(): Promise<void> {
    const text = "SELECT name, installed_version FROM pg_available_extensions WHERE name = 'citus'"
    const [name, version] = await this.#row(text)
    if (name === undefined) throw new OperatorError(PLAIN)
    if (version !== null) return
    try {
      await this.#long('CREATE EXTENSION citus')
    } catch (error) {
      if (sqlState(error) === INSUFFICIENT_PRIVILEGE) throw new OperatorError(NOT_ALLOWED, { cause: error })
      throw error
    }
    this.#options.onStep('created the extension citus')
  }

  /** An open store does not learn that Citus distributes it. */
  async #mustBeAlone(): Promise<void> {
    for (let attempt = 0; (await this.#row(SESSIONS))[0] !== '0'; attempt++) {
      if (attempt === ENDING) throw new OperatorError(IN_USE)
      await sleep(ENDING_INTERVAL)
    }
  }

  async #countWorkers(): Promise<number> {
    const row = await this.#row(
      `SELECT count(*) FILTER (WHERE groupid <> 0), count(*) FILTER (WHERE groupid = 0) FROM pg_dist_node
        WHERE shouldhaveshards AND isactive AND noderole = 'primary'`,
    )
    const [workers = 0, coordinators = 0] = row.map(Number)
    if (workers === 0) throw new OperatorError(NO_WORKERS)
    if (coordinators > 0) throw new OperatorError(COORDINATOR)
    return workers
  }

  /** @returns whether the table is distributed; `method`: Citus's method and column, such as `h:id` */
  async #isDistributed(table: 'plants' | 'tokens', method: string): Promise<boolean> {
    const [present] = await this.#row(
      `SELECT partmethod::text || coalesce(':' || column_to_column_name(logicalrelid, partkey), '')
        FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass`,
      table,
    )
    if (present === undefined || present === method) return present !== undefined
    throw new OperatorError(`the table ${table} is distributed in another way (${present}); undistribute it first`)
  }

  async #movePlants(workers: number): Promise<void> {
    const { shards = Math.max(SHARDS, SHARDS_PER_WORKER * workers), onStep, onMoved } = this.#options
    const [estimate] = await this.#row("SELECT reltuples FROM pg_class WHERE oid = 'plants'::regclass")
    const total = Math.max(0, Number(estimate))
    const watch = setInterval(() => {
      this.#row(MOVED).then(
        ([plants]) => onMoved(Number(plants), total),
        () => {},
      )
    }, INTERVAL)
    try {
      // The triggers count tags, and the log has changes, only of a table on one server (sql/postgres/000001.sql).
      await this.#long(
        NO_HISTORY,
        'DROP TABLE IF EXISTS tag_counts, tag_changes',
        'DROP FUNCTION IF EXISTS count_tags() CASCADE',
        `SELECT create_distributed_table('plants', 'id', shard_count := ${shards})`,
      )
    } finally {
      clearInterval(watch)
    }
    onStep(`plants: moved to ${shards} shards`)
  }

  /** The first row of a result; an empty one without a row. */
  async #row(text: string, ...values: readonly string[]): Promise<TextRow> {
    return (await this.#share.run({ text, values })).rows[0] ?? []
  }

  /** Runs statements in one transaction, with the planner's default settings and without the session's time-outs. */
  #long(...texts: readonly string[]): Promise<void> {
    const work = async (run: Run) => {
      await run({ text: 'SET LOCAL statement_timeout = 0' })
      await run({ text: 'SET LOCAL lock_timeout = 0' })
      for (const [name] of PLANNER_SETTINGS) await run({ text: `SET LOCAL ${name} TO DEFAULT` })
      for (const text of texts) await run({ text })
    }
    return this.#share.transaction('BEGIN', work, budgetOf(TRANSACTION_TIMEOUT))
  }
}

/** Plants that the workers have copied so far. */
const MOVED = `SELECT coalesce(sum(result::bigint), 0) FROM run_command_on_workers(
  'SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy') WHERE success`
const PLACED = `SELECT count(DISTINCT shardid), count(DISTINCT groupid) FROM pg_dist_shard JOIN pg_dist_placement
  USING (shardid) WHERE logicalrelid = 'plants'::regclass`

/** Sessions of others in this database. The names of Citus' own begin with its name. */
const SESSIONS = `SELECT count(*) FROM pg_stat_activity
  WHERE datname = current_database() AND usename IS NOT NULL AND pid <> pg_backend_pid()
    AND application_name NOT ILIKE 'citus%'`
const IN_USE =
  'other sessions are connected to the database: stop every service of the store and every other program that uses it. ' +
  'To serve it meanwhile, distribute a new store, and fill it with "plantstore copy"'

const PLAIN =
  'the server is a plain PostgreSQL: it does not have the extension citus, which distributes tables over several ' +
  'servers (docs/guides/scale-out.md says how to get it)'
const NOT_ALLOWED =
  'this role may not create the extension citus; let a superuser run CREATE EXTENSION citus in this database, on the ' +
  'coordinator and on every worker'
/**
 * A session of Citus 12.1 never frees the plans of statements on shards of the coordinator itself
 * (docs/decisions/0030-shards.md).
 */
const COORDINATOR =
  'the coordinator would get shards itself, and its sessions then grow with every request. Run on it: ' +
  "SELECT citus_set_node_property('COORDINATOR', 5432, 'shouldhaveshards', false)"
const NO_WORKERS =
  'the coordinator has no workers for this database. On every worker, create the database and in it the extension citus. ' +
  "Then run on the coordinator: SELECT citus_set_coordinator_host('COORDINATOR'); SELECT citus_add_node('WORKER', 5432)"
