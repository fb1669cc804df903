import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { type ClientConfig, DatabaseError, Client as PgClient } from 'pg'
import { mustBePrivate } from '../../base/files.ts'
import { OperatorError } from '../../base/operator-error.ts'
import { isSocketFolder, type PostgresAddress, type PostgresTls } from '../../settings/postgres-address.ts'
import { ConnectionFault, LastingFault, sqlState, Unanswered } from '../errors.ts'

/** A statement. The server parses a statement with a name only once for each connection. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** A row as an array of PostgreSQL's texts. An SQL NULL is null. */
export type TextRow = readonly (string | null)[]
export interface StatementResult {
  readonly rows: readonly TextRow[]
  /** The number of rows that the statement returned or changed. */
  readonly count: number
  readonly command: string
}
export type Run = (statement: Statement) => Promise<StatementResult>

/** The server cancels a statement after this share of the client's timeout, so that the connection stays usable. */
const SERVER_SHARE = 0.9
/** Milliseconds that a transaction may be idle before the server ends it and frees its locks. */
const IDLE_IN_TRANSACTION = 60_000

/**
 * Planner settings of each session. They make plans independent of the planner's estimates: every statement has one
 * plan, which neither reads a whole table nor sorts rows that an index holds in order. Long reads need such plans, so
 * they reset the settings.
 */
export const PLANNER_SETTINGS = [
  ['enable_seqscan', 'off'],
  ['enable_sort', 'off'],
  ['enable_incremental_sort', 'off'],
  ['plan_cache_mode', 'force_generic_plan'],
  ['jit', 'off'],
  // With the default of 4 MB, the bitmap of a search forgets single plants beyond 65,000 pages, and reads whole pages.
  ['work_mem', '32MB'],
] as const

export type SessionSettings = readonly (readonly [name: string, value: string])[]

export interface OpenOptions {
  /** Milliseconds that a statement may take when its caller passes no budget. */
  readonly timeout: number
  readonly left: number
  readonly settings: SessionSettings
  /** Whether no connection of the pool has been open: a pooler is checked once. */
  readonly isFirst: boolean
}

/** A connection. Its methods throw a ConnectionFault, or the DatabaseError that PostgreSQL sent. */
export class Client {
  readonly #pg: PgClient
  readonly #timeout: number
  #isAlive = true
  /** Resolves after the last statement that was sent; undefined when none runs. */
  #sent: Promise<void> | undefined
  /** The pid and the start time of the server's process. */
  #process: readonly (string | null)[] = []

  /** @param onEnd called once when the connection has ended, on either side */
  static async open(
    address: PostgresAddress,
    host: PostgresAddress['hosts'][number],
    { timeout, left, settings, isFirst }: OpenOptions,
    onEnd: (client: Client, error: Error | undefined) => void,
  ): Promise<Client> {
    const budget = budgetOf(Math.min(left, address.connectTimeout))
    const pg = new PgClient({
      ...clientConfig(address, host),
      connectionTimeoutMillis: Math.ceil(timeLeft(budget)) + 1,
    })
    const client = new Client(pg, timeout)
    let hasEnded = false
    const ended = (error: Error | undefined) => {
      client.#isAlive = false
      if (!hasEnded) onEnd(client, error)
      hasEnded = true
    }
    // Without a listener, an error on an idle connection would end this process.
    pg.on('error', ended)
    pg.once('end', () => ended(undefined))
    if (address.tls === undefined && !isSocketFolder(host.host)) {
      // An eavesdropper or a false server could read the password. This listener runs before pg's, whose answer a
      // destroyed socket does not send.
      const refuse = () => pg.connection.stream.destroy(new LastingFault(ASKED))
      pg.connection.once('authenticationCleartextPassword', refuse)
    }
    let named: number | undefined
    pg.connection.once('backendKeyData', ({ processID }: { readonly processID: number }) => {
      named = processID
    })
    try {
      await pg.connect()
      await client.#prepare(settings, budget)
      // A pooler names processes of its own.
      if (isFirst && String(named) !== client.#process[0]) {
        await client.#mustKeepSession(clientConfig(address, host), budget)
      }
      return client
    } catch (error) {
      // A server that waits for a password would keep the connection open.
      client.end()
      throw asFault(error)
    }
  }

  private constructor(pg: PgClient, timeout: number) {
    this.#pg = pg
    this.#timeout = timeout
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Whether a statement still runs, such as one whose caller gave up. */
  get isBusy(): boolean {
    return this.#sent !== undefined
  }

  /**
   * Runs one statement. Outside of a transaction, it resolves after the commit. It throws at the end of the budget,
   * while the statement continues.
   */
  async run({ name, text, values = [] }: Statement, budget = budgetOf(this.#timeout)): Promise<StatementResult> {
    budget.signal?.throwIfAborted()
    if (timeLeft(budget) === 0) throw new ConnectionFault('the deadline passed before the statement was sent')
    const answer = this.#pg.query<(string | null)[], unknown[]>({
      ...(name === undefined ? {} : { name }),
      text,
      values: [...values],
      rowMode: 'array',
      types: AS_TEXT,
    })
    const settle = () => {
      if (this.#sent === sent) this.#sent = undefined
    }
    const sent = answer.then(settle, settle)
    this.#sent = sent
    try {
      const { rows, rowCount, command } = await within(answer, budget, tooLate)
      return { rows, count: rowCount ?? 0, command }
    } catch (error) {
      throw budget.signal?.aborted === true && error === budget.signal.reason ? error : asFault(error)
    }
  }

  /** A statement for another connection to the same server, which cancels the statement of this client. */
  get cancellation(): Statement {
    return { text: CANCEL, values: this.#process }
  }

  /** Resolves when no statement runs. @throws ConnectionFault when the budget ends first */
  async settled(budget: Budget): Promise<void> {
    if (this.#sent !== undefined) await within(this.#sent, budget, tooLate)
  }

  /** Ends the connection at once, even during a statement. Calling it again does nothing. */
  end(): void {
    this.#isAlive = false
    this.#pg.end().catch(() => {})
  }

  /**
   * Overrides settings of the server and the database on which the promises of the service depend.
   *
   * @throws ConnectionFault when the server is read-only: a standby lags, so reads must not use it either
   * @throws LastingFault when the server has fsync off. After a failover, a connection may reach another server
   */
  async #prepare(settings: SessionSettings, budget: Budget): Promise<void> {
    const timeout = Math.ceil(this.#timeout * SERVER_SHARE)
    const { rows } = await this.run(
      {
        text: `SELECT pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
        pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
        set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
        set_config('idle_in_transaction_session_timeout', $3, false), set_config('idle_session_timeout', '0', false),
        set_config('default_transaction_isolation', 'read committed', false),
        -- A commit waits for the disk with every value except off.
        set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
          ELSE current_setting('synchronous_commit') END, false),
        ${settings.map(([name, value]) => `set_config('${name}', '${value}', false)`).join(', ')},
        current_setting('fsync')::boolean`,
        values: [timeout, Math.ceil(timeout / 2), IDLE_IN_TRANSACTION],
      },
      budget,
    )
    const [pid = null, start = null, isReadOnly] = rows[0] ?? []
    if (rows[0]?.at(-1) !== 't') {
      throw new LastingFault('the server has fsync off, so a power cut would lose acknowledged writes; set it to on')
    }
    if (isReadOnly !== 'f') throw new ConnectionFault('the server is read-only, like a standby')
    this.#process = [pid, start]
  }

  /**
   * Checks that a pooler gives no other connection the session of this one, as it does in another mode than that of
   * sessions: settings and prepared statements would be those of any client.
   */
  async #mustKeepSession(config: ClientConfig, budget: Budget): Promise<void> {
    const pg = new PgClient({ ...config, connectionTimeoutMillis: Math.ceil(timeLeft(budget)) + 1 })
    pg.on('error', () => {})
    const other = new Client(pg, this.#timeout)
    try {
      await pg.connect()
      const { rows } = await other.run({ text: OWN_PROCESS }, budget)
      if (String(rows[0]) === String(this.#process)) throw new LastingFault(SESSION_MODE)
    } finally {
      other.end()
    }
  }
}

const OWN_PROCESS = 'SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()'

const SESSION_MODE =
  'a pooler between the service and the database gives one session to several connections; it must use session mode'

const CANCEL = 'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2'

const tooLate = (): Error => new Unanswered('the database did not answer in time')

/** Keeps every value as text: a JavaScript number can not hold an int64. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** A prepared statement that another connection has made, or that the session does not have. */
const POOLED = ['42P05', '26000']

function asFault(error: unknown): unknown {
  if (POOLED.includes(sqlState(error) ?? '')) return new LastingFault(SESSION_MODE, { cause: error })
  if (error instanceof DatabaseError || error instanceof ConnectionFault) return error
  // A connection to a host name with several addresses fails with one error per address.
  const all: unknown[] = error instanceof AggregateError ? error.errors : [error]
  if (all.some(isAboutPassword)) {
    return new LastingFault('the server asks for a password; set PGPASSWORD', { cause: error })
  }
  const messages = all.map((each) => (each instanceof Error ? each.message : String(each)))
  const Fault = all.some(isAboutCertificate) ? LastingFault : ConnectionFault
  return new Fault(messages.join('; '), { cause: error })
}

/** Codes of certificate errors (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE = /^ERR_TLS_|CERT|SIGNATURE|^INVALID_(?:CA|PURPOSE)$|^HOSTNAME_MISMATCH$/

const isAboutCertificate = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CERTIFICATE.test(String(error.code))

/** pg throws this error without a code, with a constant message. */
const isAboutPassword = (error: unknown): boolean =>
  error instanceof Error && /^SASL: .*password must be a/.test(error.message)

/** Sets every option: pg reads missing ones from the environment. */
function clientConfig(address: PostgresAddress, host: PostgresAddress['hosts'][number]): ClientConfig {
  const password = address.password()
  return {
    ...host,
    database: address.database,
    user: address.user,
    ...(password === undefined ? {} : { password }),
    ssl: address.tls === undefined ? false : tlsOptions(address.tls),
    application_name: address.applicationName,
    ...(address.options === undefined ? {} : { options: address.options }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

function tlsOptions({ check, authorities, certificate, key }: PostgresTls): ConnectionOptions {
  return {
    ...(authorities === undefined ? {} : { ca: read(authorities) }),
    ...(certificate === undefined ? {} : { cert: read(certificate) }),
    ...(key === undefined ? {} : { key: readKey(key) }),
    rejectUnauthorized: check !== 'none',
    ...(check === 'authority' ? { checkServerIdentity: () => undefined } : {}),
  }
}

function readKey(path: string): Buffer {
  mustBePrivate(path)
  return read(path)
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new OperatorError(`the file ${path} can't be read`, { cause })
  }
}

const ASKED =
  'the server asks for the password in clear text, and there is no TLS; ' +
  'set sslmode=verify-full, or scram-sha-256 in its pg_hba.conf'

/** The deadline of a request, and a signal that ends it early. */
export interface Budget {
  /** Milliseconds on the clock of performance.now(). */
  readonly deadline: number
  readonly signal?: AbortSignal | undefined
}

export const budgetOf = (milliseconds: number, signal?: AbortSignal): Budget => ({
  deadline: performance.now() + milliseconds,
  signal,
})

export const timeLeft = ({ deadline }: Budget): number => Math.max(0, deadline - performance.now())

/**
 * Settles like the work. Rejects with `late()` at the deadline, and with the signal's reason on an abort. It does not
 * end the work.
 */
export function within<T>(work: Promise<T>, budget: Budget, late: () => Error): Promise<T> {
  const { signal } = budget
  return new Promise<T>((resolve, reject) => {
    const abort = () => settle(() => reject(signal?.reason))
    const timer = setTimeout(() => settle(() => reject(late())), timeLeft(budget))
    const settle = (callback: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      callback()
    }
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true) abort()
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}
