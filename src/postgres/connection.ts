import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Client, type ClientConfig, DatabaseError } from 'pg'
import { OperatorError } from '../operator-error.ts'
import type { PostgresAddress, PostgresTls } from '../postgres-address.ts'
import { ConnectionFault, LastingFault } from './errors.ts'

/** A statement; with a name, the server parses it once for each connection. */
export interface Statement {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
  /** Milliseconds that it may take, instead of what the session has. */
  readonly timeout?: number
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

/** How much longer than the server's own limit we wait for an answer, in ms: a hung one keeps to no limit. */
const GRACE = 1000
/** How long a transaction may wait for us, in ms, before the server ends it and frees its locks. */
const IDLE_IN_TRANSACTION = 60_000

/** One connection. Whatever goes wrong with it is a ConnectionFault, or what PostgreSQL itself said. */
export class Connection {
  readonly #client: Client
  readonly #statementTimeout: number
  #isAlive = true

  /**
   * @param statementTimeout milliseconds
   * @param onEnd called once when it has ended, whoever ended it
   */
  static async open(
    address: PostgresAddress,
    host: PostgresAddress['hosts'][number],
    statementTimeout: number,
    onEnd: (connection: Connection, error: Error | undefined) => void,
  ): Promise<Connection> {
    const client = new Client({ ...clientConfig(address), ...host })
    const connection = new Connection(client, statementTimeout)
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
      await connection.#prepare()
      return connection
    } catch (error) {
      // A server that asks for what we do not have, such as a password, keeps it open.
      connection.end()
      throw asFault(error)
    }
  }

  private constructor(client: Client, statementTimeout: number) {
    this.#client = client
    this.#statementTimeout = statementTimeout
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Runs one statement; outside of a transaction it is one by itself, and its commit is done when this resolves. */
  run: Run = async ({ name, text, values = [], timeout = this.#statementTimeout }) => {
    try {
      const { rows, rowCount, command } = await this.#client.query<(string | null)[], unknown[]>({
        ...(name === undefined ? {} : { name }),
        text,
        values: [...values],
        rowMode: 'array',
        types: AS_TEXT,
        // Not in pg's types. It gives up the answer, not the statement, so the connection is of no use after it.
        query_timeout: timeout + GRACE,
      } as { text: string; values: unknown[]; rowMode: 'array' })
      return { rows, count: rowCount ?? 0, command }
    } catch (error) {
      throw asFault(error)
    }
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
  async #prepare(): Promise<void> {
    const { rows } = await this.run({
      text: `SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean,
        set_config('statement_timeout', $1, false), set_config('lock_timeout', $2, false),
        set_config('idle_in_transaction_session_timeout', $3, false),
        set_config('default_transaction_isolation', 'read committed', false),
        -- Every other value makes a commit wait for the disk, and some for the disk of a standby as well.
        set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
          ELSE current_setting('synchronous_commit') END, false),
        current_setting('fsync')::boolean`,
      values: [this.#statementTimeout, Math.ceil(this.#statementTimeout / 2), IDLE_IN_TRANSACTION],
    })
    if (rows[0]?.at(-1) !== 't') {
      throw new LastingFault('the server has fsync off, so a power cut would lose what was acknowledged; set it to on')
    }
    if (rows[0]?.[0] !== 'f') throw new ConnectionFault('the server is read-only, as a standby is')
  }
}

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
function clientConfig(address: PostgresAddress): ClientConfig {
  const password = address.password()
  return {
    database: address.database,
    user: address.user,
    ...(password === undefined ? {} : { password }),
    ssl: address.tls === undefined ? false : tlsOptions(address.tls),
    application_name: address.applicationName,
    ...(address.options === undefined ? {} : { options: address.options }),
    connectionTimeoutMillis: address.connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

function tlsOptions({ check, authorities, certificate, key }: PostgresTls): ConnectionOptions {
  return {
    ...(authorities === undefined ? {} : { ca: read(authorities) }),
    ...(certificate === undefined ? {} : { cert: read(certificate) }),
    ...(key === undefined ? {} : { key: read(key) }),
    rejectUnauthorized: check !== 'none',
    ...(check === 'authority' ? { checkServerIdentity: () => undefined } : {}),
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new OperatorError(`the file ${path} can't be read`, { cause })
  }
}
