import type { PostgresAddress } from '../postgres-address.ts'
import { Connection, type Run } from './connection.ts'
import { ConnectionFault, isConnectionSound, isRetryable } from './errors.ts'

export interface ConnectionsOptions {
  readonly address: PostgresAddress
  /** Connections that may be open at once. */
  readonly max: number
  /** Milliseconds that a statement may take if it says nothing else. */
  readonly statementTimeout: number
  /** Told of a connection that broke while nobody used it. */
  readonly onTrouble: (error: Error) => void
}

interface Waiting {
  readonly resolve: (connection: Connection | undefined) => void
  readonly timer: NodeJS.Timeout
}

export type Begin = 'BEGIN' | 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** How long a transaction that was undone in favour of another is done again, in ms: each time, one of them is done. */
const PATIENCE = 10_000

/** Connections to one database, opened when they are needed and kept for the next. */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #idle: Connection[] = []
  readonly #waiting: Waiting[] = []
  readonly #whenFree: (() => void)[] = []
  #used = 0
  /** Which of the hosts is tried first: the last that took a connection. */
  #turn = 0

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** Runs one statement, a transaction by itself. Resolves after its commit. */
  run: Run = (statement) => this.#with((run) => run(statement))

  /** Runs statements in one transaction, which a throw undoes. Resolves after its commit. */
  transaction<T>(begin: Begin, work: (run: Run) => Promise<T>): Promise<T> {
    return this.#with((run) => transaction(run, begin, work))
  }

  /** A connection for one user alone, who gives it back by release() or ends it. */
  async take(): Promise<Connection> {
    return (await this.#free()) ?? this.#open()
  }

  /** Takes back a connection from take(), and ends it where it can't be used again. */
  release(connection: Connection, isSound: boolean): void {
    if (!isSound || !connection.isAlive) connection.end()
    else this.#idle.push(connection)
    this.#handOn()
  }

  /** Waits until nobody uses one any more, and ends them all. */
  async close(): Promise<void> {
    if (this.#used > 0) await new Promise<void>((resolve) => this.#whenFree.push(resolve))
    for (const connection of this.#idle.splice(0)) connection.end()
  }

  async #with<T>(work: (run: Run) => Promise<T>): Promise<T> {
    const start = performance.now()
    for (;;) {
      const connection = await this.take()
      try {
        const result = await work(connection.run)
        this.release(connection, true)
        return result
      } catch (error) {
        this.release(connection, isConnectionSound(error))
        if (!isRetryable(error) || performance.now() - start > PATIENCE) throw error
      }
    }
  }

  /** An idle connection, or undefined where a new one may be opened. */
  async #free(): Promise<Connection | undefined> {
    const { max, address } = this.#options
    if (this.#used < max) {
      this.#used++
      return this.#popIdle()
    }
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        resolve,
        timer: setTimeout(() => {
          this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
          reject(new ConnectionFault(`none of ${max} connections became free`))
        }, address.connectTimeout),
      }
      this.#waiting.push(waiting)
    })
  }

  /** Opens one to the first host that takes it. */
  async #open(): Promise<Connection> {
    const { address, statementTimeout } = this.#options
    const { hosts } = address
    let fault: unknown
    for (let i = 0; i < hosts.length; i++) {
      const turn = this.#turn
      const host = hosts[turn % hosts.length]
      if (host === undefined) break
      try {
        return await Connection.open(address, host, statementTimeout, (...ended) => this.#ended(...ended))
      } catch (error) {
        fault = error
        // Many may fail on one host at once; its turn ends only once.
        if (this.#turn === turn) this.#turn++
      }
    }
    this.#handOn()
    throw fault
  }

  /** One that was used is so no longer: whoever has waited longest may take an idle one, or open another. */
  #handOn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#used--
      if (this.#used === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
    } else {
      clearTimeout(next.timer)
      next.resolve(this.#popIdle())
    }
  }

  /** One that the server has ended may not have left the list yet. */
  #popIdle(): Connection | undefined {
    let connection = this.#idle.pop()
    while (connection?.isAlive === false) connection = this.#idle.pop()
    return connection
  }

  #ended(connection: Connection, error: Error | undefined): void {
    const at = this.#idle.indexOf(connection)
    if (at === -1) return
    this.#idle.splice(at, 1)
    this.#options.onTrouble(error ?? new Error('the server ended a connection'))
  }
}

async function transaction<T>(run: Run, begin: Begin, work: (run: Run) => Promise<T>): Promise<T> {
  await run({ text: begin })
  let result: T
  try {
    result = await work(run)
  } catch (error) {
    if (isConnectionSound(error)) await run({ text: 'ROLLBACK' })
    throw error
  }
  // PostgreSQL answers the COMMIT of a transaction that went wrong with ROLLBACK, and with no error.
  const { command } = await run({ text: 'COMMIT' })
  if (command !== 'COMMIT') throw new ConnectionFault(`the commit was answered with ${command}`)
  return result
}
