import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AppliedMigration,
  type Migration,
  pendingMigrations,
  readMigrations,
  statementsOf,
} from '../base/migrations.ts'
import { OperatorError } from '../base/operator-error.ts'
import { DISTRIBUTED, isThisMachine, type PostgresAddress } from '../settings/postgres-address.ts'
import { isPassing, sqlState } from './errors.ts'
import type { Run } from './pool/client.ts'
import { budgetOf } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

const DIRECTORY = new URL('../../sql/postgres/', import.meta.url)
/** The key of the advisory lock of migrations: the bytes "PLNT" twice. */
const LOCK = '5785235428497378900'
/** Milliseconds for one migration: another process may hold the lock, and to build an index takes long. */
const STATEMENT_TIMEOUT = 60 * 60_000
const DUPLICATE_TABLE = '42P07'
/** Milliseconds between two notices of a migration that takes long. */
const NOTICE_INTERVAL = 10_000

export interface PrepareOptions {
  /** Milliseconds for which to retry when the database can not be reached; 0 for a single attempt. */
  readonly retryTime: number
  readonly create: boolean
  /** Called with a message for the operator, who need not act on it at once. */
  readonly onNotice: (text: string) => void
}

/** Waits for the database, checks it, and creates or migrates the tables. @returns whether this call created the store */
export async function prepareDatabase(
  share: PoolShare,
  address: PostgresAddress,
  { retryTime, create, onNotice }: PrepareOptions,
): Promise<boolean> {
  if (address.tls === undefined && !address.hosts.every(({ host }) => isThisMachine(host))) onNotice(WITHOUT_TLS)
  await waitForDatabase(share, { retryTime, onNotice })
  for (const notice of await preflight(share)) onNotice(notice)
  await mustBeNamedSo(share, address)
  return migrate(share, create, onNotice)
}

/** Refuses a distributed store where its address does not say so, and the other way round. */
async function mustBeNamedSo({ run }: PoolShare, { isDistributed }: PostgresAddress): Promise<void> {
  const [[there = null, countsTags = null] = []] = (await run({ text: KIND })).rows
  const kind = there === null ? 'absent' : countsTags === null ? 'distributed' : 'plain'
  if (kind === 'distributed' && !isDistributed)
    throw new OperatorError(`it is distributed; begin its address with ${DISTRIBUTED}:// in place of postgres://`)
  if (kind === 'plain' && isDistributed)
    throw new OperatorError('it is not distributed; begin its address with postgres://, or run "plantstore distribute"')
  if (kind === 'absent' && isDistributed) throw new OperatorError('it does not exist; "plantstore distribute" makes it')
}

/** A store that is distributed counts no tags by triggers. */
const KIND = "SELECT to_regclass('plantstore_migrations'), to_regclass('tag_counts')"

const WITHOUT_TLS =
  'the database is on another machine and is reached without TLS, so anyone on the network can read and change the ' +
  'data; set sslmode=verify-full in its address'

/**
 * Applies the pending migrations, each in a transaction. Several processes may call it at once: each takes the advisory
 * lock, and then looks again which migrations are pending.
 *
 * @param onNotice called before and after each migration of a present store, and during a long one
 * @throws OperatorError when a newer program, or migrations other than this program's, made the schema; also when the
 *   store does not exist and `create` is false
 * @returns whether this call created the store
 */
export async function migrate(
  share: PoolShare,
  create: boolean,
  onNotice: (text: string) => void = () => {},
  known = readMigrations(DIRECTORY),
): Promise<boolean> {
  const before = await applied(share.run)
  if (before.length === 0 && !create) throw new OperatorError('it does not exist')
  const tell = before.length === 0 ? () => {} : onNotice
  let isNew = false
  for (const { number } of pendingMigrations(known, before)) {
    const isApplied = await apply(share, known, number, tell)
    isNew ||= isApplied && number === 1
  }
  return isNew
}

/** @returns whether this call applied the migration; false when another process has applied it before */
async function apply(
  share: PoolShare,
  known: readonly Migration[],
  number: number,
  tell: (text: string) => void,
): Promise<boolean> {
  const what = `the store to schema ${number} of ${known.length}`
  let timer: NodeJS.Timeout | undefined
  let startedAt: number | undefined
  const work = async (run: Run) => {
    startedAt = undefined
    await run({ text: `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT}` })
    await run({ text: 'SET LOCAL lock_timeout = 0' })
    await run({ text: `SELECT pg_advisory_xact_lock(${LOCK})` })
    await run({
      text: `CREATE TABLE IF NOT EXISTS plantstore_migrations
        (number integer PRIMARY KEY, checksum text COLLATE "C" NOT NULL)`,
    })
    const [next] = pendingMigrations(known, await applied(run))
    if (next?.number !== number) return
    const values = [number, next.checksum]
    await run({ text: 'INSERT INTO plantstore_migrations (number, checksum) VALUES ($1, $2)', values })
    const start = performance.now()
    startedAt = start
    tell(`migrating ${what}; running services of older versions continue, but cannot start again`)
    const report = () => tell(`still migrating ${what}, for ${Math.round((performance.now() - start) / 1000)} s`)
    clearInterval(timer)
    timer = setInterval(report, NOTICE_INTERVAL)
    for (const text of statementsOf(next.sql)) await run({ text }).catch(explain)
  }
  await share.transaction('BEGIN', work, budgetOf(STATEMENT_TIMEOUT)).finally(() => clearInterval(timer))
  if (startedAt !== undefined) tell(`migrated ${what} in ${Math.ceil(performance.now() - startedAt)} ms`)
  return startedAt !== undefined
}

async function applied(run: Run): Promise<AppliedMigration[]> {
  const [row] = (await run({ text: "SELECT to_regclass('plantstore_migrations')" })).rows
  if (row?.[0] == null) return []
  const { rows } = await run({ text: 'SELECT number, checksum FROM plantstore_migrations ORDER BY number' })
  return rows.map(([number, checksum]) => ({ number: Number(number), checksum: checksum ?? '' }))
}

function explain(error: unknown): never {
  if (sqlState(error) !== DUPLICATE_TABLE) throw error
  throw new OperatorError(`it contains tables of another program: ${error instanceof Error ? error.message : ''}`)
}

/** Milliseconds between two attempts to reach the database. */
const INTERVAL = 250
/** The oldest supported server_version_num: PostgreSQL 15. */
const OLDEST = 150_000

/**
 * Waits until the database can be reached and takes writes. Says so once, after the first attempt has failed.
 *
 * @throws the error of the last attempt. An error that a retry can not change, such as a wrong password, ends the wait
 */
export async function waitForDatabase(
  share: PoolShare,
  { retryTime, onNotice }: Pick<PrepareOptions, 'retryTime' | 'onNotice'>,
): Promise<void> {
  const start = performance.now()
  for (let attempt = 1; ; attempt++) {
    try {
      await share.run({ text: 'SELECT 1' })
      return
    } catch (error) {
      if (!isPassing(error) || performance.now() - start + INTERVAL > retryTime) throw error
      if (attempt === 1) onNotice(`waiting for the database: ${error instanceof Error ? error.message : error}`)
      await sleep(INTERVAL)
    }
  }
}

/**
 * Checks the server before the store creates or changes anything there.
 *
 * @returns warnings for the operator
 * @throws OperatorError when the server is too old, or its encoding can not hold every text
 */
export async function preflight({ run }: PoolShare): Promise<string[]> {
  const { rows } = await run({ text: 'SELECT current_setting(n) FROM unnest($1::text[]) n', values: [SETTINGS] })
  return judge(Object.fromEntries(SETTINGS.map((name, i) => [name, rows[i]?.[0] ?? ''])))
}

const SETTINGS = ['server_version_num', 'server_version', 'server_encoding', 'full_page_writes']

export function judge(settings: Readonly<Record<string, string>>): string[] {
  const { server_version_num: number, server_version: version, server_encoding: encoding } = settings
  if (Number(number) < OLDEST) throw new OperatorError(`PostgreSQL ${version} is too old; it must be 15 or newer`)
  if (encoding !== 'UTF8') {
    throw new OperatorError(`the database has the encoding ${encoding}; create one with ENCODING 'UTF8'`)
  }
  if (settings['full_page_writes'] === 'on') return []
  return ['the server has full_page_writes off; unless its file system writes pages whole, a power cut may damage them']
}
