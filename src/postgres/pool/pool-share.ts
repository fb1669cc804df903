import { AppError } from '../../errors.ts'
import { ConnectionFault, isConnectionSound, isRetryable } from '../errors.ts'
import { type Budget, budgetOf } from './budget.ts'
import type { Connection, Outcome, Run, Statement } from './client.ts'
import type { Pool } from './pool.ts'
import { Places } from './semaphore.ts'

export type Begin = 'BEGIN' | 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** How long a statement that was given up may take to end, in ms, before its connection is. */
const LAST_WORD = 900

/** The share of a pool that one kind of work may use, so that it leaves the rest to others. */
export class Connections {
  readonly #pool: Pool
  readonly #places: Places

  /**
   * @param max connections that this work may use at once; Infinity for all that the pool has
   * @param reserved what it leaves to others where the server gives us fewer than we want
   * @param work what it is, in a word for those who have to wait too long for it
   */
  constructor(pool: Pool, max: number, { reserved = 0, work = 'requests' } = {}) {
    this.#pool = pool
    const limit = () => Math.min(max, Math.max(1, pool.capacity - reserved))
    const late = () => new AppError(50302, `too many ${work} are under way; nothing was done, send it again later`)
    this.#places = new Places(limit, late)
  }

  /** Runs one statement, a transaction by itself. Resolves after its commit. */
  run = (statement: Statement, budget = this.budget()): Promise<Outcome> => this.with((run) => run(statement), budget)

  /** Runs statements as `run` does, all from one budget. */
  within(budget: Budget): Run {
    return (statement) => this.run(statement, budget)
  }

  /** Runs statements in one transaction, which a throw undoes. Resolves after its commit. */
  transaction<T>(begin: Begin, work: (run: Run) => Promise<T>, budget = this.budget()): Promise<T> {
    return this.#with((connection) => transaction(connection, begin, work, budget), budget)
  }

  /**
   * Runs statements on one connection, each a transaction by itself. Connecting, waiting, running and running again after
   * a conflict all take from one budget.
   */
  with<T>(work: (run: Run) => Promise<T>, budget = this.budget()): Promise<T> {
    return this.#with((connection) => work((statement) => connection.run(statement, budget)), budget)
  }

  async #with<T>(work: (connection: Connection) => Promise<T>, budget: Budget): Promise<T> {
    for (;;) {
      const connection = await this.take(budget)
      try {
        const result = await work(connection)
        this.release(connection, true)
        return result
      } catch (error) {
        this.release(connection, isConnectionSound(error))
        if (!isRetryable(error) || performance.now() > budget.deadline) throw error
      }
    }
  }

  /** A connection for one user alone, who gives it back by `release`. */
  async take(budget = this.budget()): Promise<Connection> {
    await this.#places.take(budget)
    try {
      return await this.#pool.take(budget)
    } catch (error) {
      this.#places.giveBack()
      throw error
    }
  }

  /** Takes back a connection from `take`. A statement that goes on there is cancelled first. */
  release(connection: Connection, isSound: boolean): void {
    if (!connection.isBusy) this.#giveBack(connection, isSound)
    else void this.#cancel(connection).then((isClean) => this.#giveBack(connection, isClean))
  }

  /** Takes back a connection from `take` and ends it, with all that it has open. */
  discard(connection: Connection): void {
    if (!connection.isBusy) this.#giveBack(connection, false)
    else void this.#cancel(connection).then(() => this.#giveBack(connection, false))
  }

  #giveBack(connection: Connection, isSound: boolean): void {
    this.#pool.release(connection, isSound)
    this.#places.giveBack()
  }

  /** @returns whether the statement has ended, and nothing more will reach the connection */
  async #cancel(connection: Connection): Promise<boolean> {
    if (!connection.isAlive) return false
    const budget = budgetOf(LAST_WORD)
    try {
      const other = await this.#pool.take(budget)
      const cancelled = other
        .run(connection.cancellation, budget)
        .finally(() => this.#pool.release(other, !other.isBusy))
      await Promise.all([cancelled, connection.settled(budget)])
      // It may have been in a transaction; if not, this does nothing.
      await connection.run({ text: 'ROLLBACK' }, budget)
      return true
    } catch {
      return false
    }
  }

  /** That of a request that begins now. */
  budget(signal?: AbortSignal): Budget {
    return budgetOf(this.#pool.options.timeout, signal)
  }
}

async function transaction<T>(
  connection: Connection,
  begin: Begin,
  work: (run: Run) => Promise<T>,
  budget: Budget,
): Promise<T> {
  const run: Run = (statement) => connection.run(statement, budget)
  await run({ text: begin })
  let result: T
  try {
    result = await work(run)
  } catch (error) {
    // Where a statement still goes on, whoever takes the connection back cancels it and rolls back.
    if (!connection.isBusy && isConnectionSound(error)) await connection.run({ text: 'ROLLBACK' }, budgetOf(LAST_WORD))
    throw error
  }
  // PostgreSQL answers the COMMIT of a transaction that went wrong with ROLLBACK, and with no error.
  const { command } = await run({ text: 'COMMIT' })
  if (command !== 'COMMIT') throw new ConnectionFault(`the commit was answered with ${command}`)
  return result
}
