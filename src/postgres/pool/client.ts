import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Client, type ClientConfig, DatabaseError } from 'pg'
import { OperatorError } from '../../operator-error.ts'
import { isSocketFolder, type PostgresAddress, type PostgresTls } from '../../postgres-address.ts'
import { ConnectionFault, LastingFault } from '../errors.ts'
import { type Budget, budgetOf, timeLeft, within } from './budget.ts'
import { ClearTextGuard } from './clear-text-guard.ts'
import { mustBePrivate } from './private-key.ts'

/** A statement; with a name, the server parses it once for each connection. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
}

/** Rows as arrays of the texts that PostgreSQL writes; null stays null. */
export type Row = readonly (string | null)[]
export interface Outcome {
  readonly rows: readonly Row[]
  /** Rows that were read or changed. */
  readonly count: number
  /** The command tag, such as `COMMIT`. */
  readonly command: string
}
export type Run = (statement: Statement) => Promise<Outcome>

/** The server gives a statement up after this share of the time, so that its connection can be used again. */
const SERVER_SHARE = 0.9
/** How long a transaction may wait for us, in ms, before the server ends it and frees its locks. */
const IDLE_IN_TRANSACTION = 60_000

/**
 * What a session is planned by, so that no statement's plan depends on what the planner guesses: each leaves one way that
 * neither reads the whole table nor sorts what an index has in order. Long reads, which do both, take it back.
 */
export const PLANNER_SETTINGS = [
  ['enable_seqscan', 'off'],
  ['enable_sort', 'off'],
  ['enable_incremental_sort', 'off'],
  ['plan_cache_mode', 'force_generic_plan'],
  ['jit', 'off'],
] as const

export interface OpenOptions {
  /** Milliseconds that a statement may take if its budget says nothing else. */
  readonly timeout: number
  /** Milliseconds that opening may take. */
  readonly left: number
}

/** One connection. Whatever goes wrong with it is a ConnectionFault, or what PostgreSQL itself said. */
export class Connection {
  readonly #client: Client
  readonly #timeout: number
  #isAlive = true
  /** The statement that was sent last, until its answer is complete. */
  #sent: Promise<void> | undefined
  #process: readonly (string | null)[] = []

  /** @param onEnd called once when it has ended, whoever ended it */
  static async open(
    address: PostgresAddress,
    host: PostgresAddress['hosts'][number],
    { timeout, left }: OpenOptions,
    onEnd: (connection: Connection, error: Error | undefined) => void,
  ): Promise<Connection> {
    const budget = budgetOf(Math.min(left, address.connectTimeout))
    const client = new Client({
      ...clientConfig(address, host),
      connectionTimeoutMillis: Math.ceil(timeLeft(budget)) + 1,
    })
    const connection = new Connection(client, timeout)
    let fault: Error | undefined
    // Without a listener, an error of a connection that runs no statement would end the process.
    client.on('error', (error) => {
      fault = error
      connection.#isAlive = false
    })
    client.once('end', () => {
      connection.#isAlive = false
      onEnd(connection, fault)
    })
    try {
      await client.connect()
      await connection.#prepare(budget)
      return connection
    } catch (error) {
      // A server that asks for what we do not have, such as a password, keeps it open.
      connection.end()
      throw asFault(error)
    }
  }

  private constructor(client: Client, timeout: number) {
    this.#client = client
    this.#timeout = timeout
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Whether a statement goes on whose answer nobody waits for any more. */
  get isBusy(): boolean {
    return this.#sent !== undefined
  }

  /**
   * Runs one statement; outside of a transaction it is one by itself, and its commit is done when this resolves. At the
   * end of the budget it gives up the answer and leaves the statement to go on.
   */
  async run({ name, text, values = [] }: Statement, budget = budgetOf(this.#timeout)): Promise<Outcome> {
    budget.signal?.throwIfAborted()
    if (timeLeft(budget) === 0) throw tooLate()
    const answer = this.#client.query<(string | null)[], unknown[]>({
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

  /** A statement for another connection to the database, which cancels what goes on here and on no other server. */
  get cancellation(): Statement {
    return { text: CANCEL, values: this.#process }
  }

  /** Resolves when no statement goes on. @throws ConnectionFault at the end of the budget */
  async settled(budget: Budget): Promise<void> {
    if (this.#sent !== undefined) await within(this.#sent, budget, tooLate)
  }

  /** Ends it, with whatever it is doing. Calling it again does nothing. */
  end(): void {
    this.#isAlive = false
    this.#client.end().catch(() => {})
  }

  /**
   * Sets what every session has to have, whatever the server and the database are set to.
   *
   * @throws ConnectionFault when the server takes no writes: a standby also lags behind, so not even reads go there
   * @throws LastingFault when it does not wait for the disk; behind the address may be another one than at the start
   */
  async #prepare(budget: Budget): Promise<void> {
    const timeout = Math.ceil(this.#timeout * SERVER_SHARE)
    const { rows } = await this.run(
      {
        text: `SELECT pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()),
        pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
        set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
        set_config('idle_in_transaction_session_timeout', $3, false),
        set_config('default_transaction_isolation', 'read committed', false),
        -- Every other value makes a commit wait for the disk, and some for the disk of a standby as well.
        set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
          ELSE current_setting('synchronous_commit') END, false),
        ${PLANNER_SETTINGS.map(([name, value]) => `set_config('${name}', '${value}', false)`).join(', ')},
        current_setting('fsync')::boolean`,
        values: [timeout, Math.ceil(timeout / 2), IDLE_IN_TRANSACTION],
      },
      budget,
    )
    const [pid = null, start = null, isReadOnly] = rows[0] ?? []
    if (rows[0]?.at(-1) !== 't') {
      throw new LastingFault('the server has fsync off, so a power cut would lose what was acknowledged; set it to on')
    }
    if (isReadOnly !== 'f') throw new ConnectionFault('the server is read-only, as a standby is')
    this.#process = [pid, start]
  }
}

const CANCEL = 'SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_start = $2'

const tooLate = (): Error => new ConnectionFault('the database did not answer in time')

/** Everything as PostgreSQL writes it: an int64 is no JavaScript number. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

function asFault(error: unknown): unknown {
  if (error instanceof DatabaseError || error instanceof ConnectionFault) return error
  // A name that stands for several addresses fails with one error for each.
  const all: unknown[] = error instanceof AggregateError ? error.errors : [error]
  if (all.some(isAboutPassword)) {
    return new LastingFault('the server asks for a password, and none is given; set PGPASSWORD', { cause: error })
  }
  const messages = all.map((each) => (each instanceof Error ? each.message : String(each)))
  const Fault = all.some(isAboutCertificate) ? LastingFault : ConnectionFault
  return new Fault(messages.join('; '), { cause: error })
}

/** What is wrong with a certificate (https://nodejs.org/api/tls.html#x509-certificate-error-codes). */
const CERTIFICATE = /^ERR_TLS_|CERT|SIGNATURE|^INVALID_(?:CA|PURPOSE)$|^HOSTNAME_MISMATCH$/

const isAboutCertificate = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && CERTIFICATE.test(String(error.code))

/** It has no code: pg says so in these words, of its own and always the same. */
const isAboutPassword = (error: unknown): boolean =>
  error instanceof Error && /^SASL: .*password must be a/.test(error.message)

/** For pg, which would otherwise ask the environment for whatever is left out here. */
function clientConfig(address: PostgresAddress, host: PostgresAddress['hosts'][number]): ClientConfig {
  const password = address.password()
  return {
    ...host,
    database: address.database,
    user: address.user,
    ...(password === undefined ? {} : { password }),
    ssl: address.tls === undefined ? false : tlsOptions(address.tls),
    ...(address.tls === undefined && !isSocketFolder(host.host) ? { stream: () => new ClearTextGuard() } : {}),
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
