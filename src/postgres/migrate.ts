import { type AppliedMigration, type Migration, pendingMigrations, readMigrations } from '../migrations.ts'
import { OperatorError } from '../operator-error.ts'
import { sqlState } from './errors.ts'
import { budgetOf } from './pool/budget.ts'
import type { Run } from './pool/client.ts'
import type { PoolShare } from './pool/pool-share.ts'

const DIRECTORY = new URL('../../sql/postgres/', import.meta.url)
/** The advisory lock of migrations: the bytes "PLNT" twice. */
const LOCK = '5785235428497378900'
/** Milliseconds for all migrations: others may hold the lock, and a new index takes long. */
const STATEMENT_TIMEOUT = 60 * 60_000
const DUPLICATE_TABLE = '42P07'
/** Milliseconds between two notices of a migration that takes long. */
const NOTICE_INTERVAL = 10_000

/**
 * Brings the schema up to date: each file statement by statement, and in a transaction of its own. Many processes may
 * do so at once: each of them takes the lock, and then reads again which migrations are applied.
 *
 * @param onNotice called before and after each migration of a store that is there, and while it takes long
 * @throws OperatorError when the store is newer than this program, has another schema, or does not exist and `create`
 *   is false
 * @returns whether this call made the store
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

/** @returns whether this call applied the migration; false when another process did before */
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
  progress?.begins()
  for (const text of statementsOf(next.sql)) await run({ text }).catch(explain)
  return true
}

/** Reports the progress of a migration, as the start of the service waits for it. */
class MigrationProgress {
  readonly #what: string
  readonly #onNotice: (text: string) => void
  #startedAt = 0
  #timer: NodeJS.Timeout | undefined

  constructor(number: number, newest: number, onNotice: (text: string) => void) {
    this.#what = `the store to schema ${number} of ${newest}`
    this.#onNotice = onNotice
  }

  /** Called once no other process migrates. */
  begins(): void {
    this.#startedAt = performance.now()
    this.#onNotice(`migrating ${this.#what}; older programs that run go on, and cannot start again`)
    const tell = () => this.#onNotice(`still migrating ${this.#what}, for ${Math.round(this.#time() / 1000)} s`)
    clearInterval(this.#timer)
    this.#timer = setInterval(tell, NOTICE_INTERVAL)
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

/** Parts in which a `;` does not end a statement: comments, quoted texts and names, dollar-quoted texts. */
const TOKEN = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[\s\S]*?\$\1\$|;|[^-/'"$;]+|[\s\S]/g

/**
 * The statements of an SQL file, without the comments between their words. A sharded database refuses several changes
 * of its schema in one message.
 */
export function statementsOf(sql: string): string[] {
  const statements = ['']
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token === ';') statements.push('')
    else if (!/^(?:--|\/\*)/.test(token)) statements.push(`${statements.pop() ?? ''}${token}`)
  }
  return statements.map((statement) => statement.trim()).filter((statement) => statement !== '')
}
