import { type AppliedMigration, type Migration, pendingMigrations, readMigrations } from '../base/migrations.ts'
import { OperatorError } from '../base/operator-error.ts'
import { sqlState } from './errors.ts'
import { budgetOf } from './pool/budget.ts'
import type { Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'
import { refold } from './refold.ts'

const DIRECTORY = new URL('../../sql/postgres/', import.meta.url)
/** The key of the advisory lock of migrations: the bytes "PLNT" twice. */
const LOCK = '5785235428497378900'
/** Milliseconds for one migration: another process may hold the lock, and to build an index takes long. */
const STATEMENT_TIMEOUT = 60 * 60_000
/** Work of migrations that SQL cannot do, after their statements. */
const STEPS: ReadonlyMap<number, (run: Run) => Promise<void>> = new Map([[10, refold]])
const DUPLICATE_TABLE = '42P07'
/** Milliseconds between two notices of a migration that takes long. */
const NOTICE_INTERVAL = 10_000

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
): Promise<boolean> {
  const known = readMigrations(DIRECTORY)
  const before = await applied(share.run)
  if (before.length === 0 && !create) throw new OperatorError('it does not exist')
  let isNew = false
  for (const { number } of pendingMigrations(known, before)) {
    const progress = before.length === 0 ? undefined : new MigrationProgress(number, known.length, onNotice)
    const work = (run: Run) => applyFirst(run, known, number, progress)
    const isApplied = await share
      .transaction('BEGIN', work, budgetOf(STATEMENT_TIMEOUT))
      .finally(() => progress?.stop())
    if (isApplied) progress?.done()
    isNew ||= isApplied && number === 1
  }
  return isNew
}

/** @returns whether this call applied the migration; false when another process has applied it before */
async function applyFirst(
  run: Run,
  known: readonly Migration[],
  number: number,
  progress: MigrationProgress | undefined,
): Promise<boolean> {
  await run({ text: `SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT}` })
  await run({ text: 'SET LOCAL lock_timeout = 0' })
  await run({ text: `SELECT pg_advisory_xact_lock(${LOCK})` })
  await run({
    text: `CREATE TABLE IF NOT EXISTS plantstore_migrations
      (number integer PRIMARY KEY, checksum text COLLATE "C" NOT NULL)`,
  })
  const [next] = pendingMigrations(known, await applied(run))
  if (next?.number !== number) return false
  const values = [number, next.checksum]
  await run({ text: 'INSERT INTO plantstore_migrations (number, checksum) VALUES ($1, $2)', values })
  progress?.start()
  for (const text of statementsOf(next.sql)) await run({ text }).catch(explain)
  await STEPS.get(number)?.(run)
  return true
}

/** Reports the progress of a migration, because the start of the service waits for it. */
class MigrationProgress {
  readonly #what: string
  readonly #onNotice: (text: string) => void
  #startedAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(number: number, newest: number, onNotice: (text: string) => void) {
    this.#what = `the store to schema ${number} of ${newest}`
    this.#onNotice = onNotice
  }

  /** Call it once this process has the advisory lock. */
  start(): void {
    this.#startedAt = performance.now()
    this.#onNotice(`migrating ${this.#what}; running services of older versions continue, but cannot start again`)
    const report = () => this.#onNotice(`still migrating ${this.#what}, for ${Math.round(this.#time() / 1000)} s`)
    clearInterval(this.#timer)
    this.#timer = setInterval(report, NOTICE_INTERVAL)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  done(): void {
    this.#onNotice(`migrated ${this.#what} in ${Math.ceil(this.#time())} ms`)
  }

  #time(): number {
    return performance.now() - this.#startedAt
  }
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

/**
 * Tokens of SQL. A `;` ends no statement inside a comment, a quoted text, a quoted identifier or a dollar-quoted text
 * (https://www.postgresql.org/docs/current/sql-syntax-lexical.html).
 */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g

/**
 * Splits an SQL file into statements, and leaves out comments. Citus refuses several changes of the schema in one
 * message.
 */
export function statementsOf(sql: string): string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else if (!/^(?:--|\/\*)/.test(token)) statements.push(`${statements.pop() ?? ''}${token}`)
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
