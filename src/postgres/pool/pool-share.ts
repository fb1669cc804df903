import { AppError, shuttingDown } from '../../domain/errors.ts'
import type { PoolUse, StorePool } from '../../domain/store.ts'
import { appErrorOf, ConnectionFault, isConnectionSound, isRetryable } from '../errors.ts'
import { type Budget, budgetOf, type Client, type Run, type Statement, type StatementResult } from './client.ts'
import { type Pool, Semaphore } from './pool.ts'

export type Begin = 'BEGIN' | 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

/** Milliseconds that a cancelled statement may take to end. After that, the pool ends its connection. */
const CANCEL_TIMEOUT = 900

export interface ShareOptions {
  /** Clients that this work leaves to others when the server refuses more connections. */
  readonly reserved?: number
  /** The name of the work in the message of 50302. */
  readonly work?: string
  readonly refusal?: () => AppError | undefined
  /** Turns each fault of the database into the error that callers get. By default they get the fault. */
  readonly faultOf?: (error: unknown) => unknown
}

/** Bounds the number of a pool's clients that one kind of work uses at once. */
export class PoolShare {
  readonly #pool: Pool
  readonly #semaphore: Semaphore
  readonly #refusal: () => AppError | undefined
  readonly #faultOf: (error: unknown) => unknown
  readonly #dedicated = new Set<Client>()
  #isEnded = false

  /** @param max clients that this work may use at once; Infinity for all clients of the pool */
  constructor(pool: Pool, max: number, options: ShareOptions = {}) {
    const { reserved = 0, work = 'requests', refusal = () => undefined, faultOf = (error) => error } = options
    this.#pool = pool
    this.#refusal = refusal
    this.#faultOf = faultOf
    const limit = () => Math.min(max, Math.max(1, pool.capacity - reserved))
    const late = () => new AppError(50302, `too many ${work} are under way; nothing was done, send it again later`)
    this.#semaphore = new Semaphore(limit, late)
  }

  get use(): PoolUse {
    return this.#semaphore
  }

  /** Resolves when this work has a connection or can open one. @throws ConnectionFault when it can't open one */
  async check(): Promise<void> {
    if (this.#semaphore.used === 0) this.release(await this.acquire(), true)
  }

  /** Runs one statement as its own transaction. Resolves after the commit. */
  run = (statement: Statement, budget = this.budget()): Promise<StatementResult> =>
    this.with((run) => run(statement), budget)

  within(budget: Budget): Run {
    return (statement) => this.run(statement, budget)
  }

  /** Runs statements in one transaction; a throw rolls it back. Resolves after the commit. */
  transaction<T>(begin: Begin, work: (run: Run) => Promise<T>, budget = this.budget()): Promise<T> {
    return this.#with((client) => transaction(client, begin, work, budget), budget)
  }

  /**
   * Runs statements on one client, each as its own transaction. The budget covers waiting for a client, connecting, and
   * all retries after conflicts.
   */
  with<T>(work: (run: Run) => Promise<T>, budget = this.budget()): Promise<T> {
    return this.#with((client) => work((statement) => client.run(statement, budget)), budget)
  }

  async #with<T>(work: (client: Client) => Promise<T>, budget: Budget): Promise<T> {
    for (;;) {
      const client = await this.acquire(budget)
      try {
        const result = await work(client)
        this.release(client, true)
        return result
      } catch (error) {
        this.release(client, isConnectionSound(error))
        if (!isRetryable(error) || performance.now() > budget.deadline) throw this.#faultOf(error)
      }
    }
  }

  /** Returns a client for one caller alone, who passes it back to `release`. */
  async acquire(budget = this.budget()): Promise<Client> {
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
    await this.#semaphore.acquire(budget)
    try {
      return await this.#pool.acquire(budget)
    } catch (error) {
      this.#semaphore.release()
      throw this.#faultOf(error)
    }
  }

  /** Takes back a client. First cancels a statement that still runs on it. */
  release(client: Client, isSound: boolean): void {
    if (!client.isBusy) this.#giveBack(client, isSound)
    else void this.#cancel(client).then((isClean) => this.#giveBack(client, isClean))
  }

  /**
   * Returns a client of its own for long work. Pass it back to `discard`.
   *
   * @param signal ends the wait, which then rejects with the signal's reason
   * @throws AppError 50303 after `end`
   */
  async dedicate(signal?: AbortSignal): Promise<Client> {
    const client = await this.acquire(this.budget(signal))
    this.#dedicated.add(client)
    if (!this.#isEnded) return client
    this.discard(client)
    throw shuttingDown()
  }

  /** Ends a dedicated client, with its transaction and temporary tables. Calling it again does nothing. */
  discard(client: Client): void {
    if (!this.#dedicated.delete(client)) return
    const end = () => this.#giveBack(client, false)
    if (client.isBusy) void this.#cancel(client).then(end)
    else end()
  }

  /** Runs long work on a client of its own. */
  async alone<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const client = await this.dedicate()
    try {
      return await work(client)
    } catch (error) {
      throw this.dedicatedFault(error)
    } finally {
      this.discard(client)
    }
  }

  /** Yields what long work yields on a client of its own. */
  async *stream<T>(work: (client: Client) => AsyncIterable<T>, signal?: AbortSignal): AsyncIterable<T> {
    const client = await this.dedicate(signal)
    try {
      yield* this.withFaults(work(client), signal)
    } finally {
      this.discard(client)
    }
  }

  /** Yields what a dedicated client yields, and throws its faults as callers get them. */
  async *withFaults<T>(items: AsyncIterable<T>, signal?: AbortSignal): AsyncIterable<T> {
    try {
      yield* items
    } catch (error) {
      signal?.throwIfAborted()
      throw this.dedicatedFault(error)
    }
  }

  dedicatedFault(error: unknown): unknown {
    return this.#isEnded ? shuttingDown() : this.#faultOf(error)
  }

  /** Ends all dedicated clients at once, even during a statement, and gives no further ones. */
  end(): void {
    this.#isEnded = true
    for (const client of this.#dedicated) {
      client.end()
      this.discard(client)
    }
  }

  #giveBack(client: Client, isSound: boolean): void {
    this.#pool.release(client, isSound)
    this.#semaphore.release()
  }

  /** @returns whether the statement has ended, so that the client can be used again */
  async #cancel(client: Client): Promise<boolean> {
    if (!client.isAlive) return false
    const budget = budgetOf(CANCEL_TIMEOUT)
    try {
      const other = await this.#pool.acquire(budget)
      const cancelled = other.run(client.cancellation, budget).finally(() => this.#pool.release(other, !other.isBusy))
      await Promise.all([cancelled, client.settled(budget)])
      // Outside of a transaction, ROLLBACK does nothing.
      await client.run({ text: 'ROLLBACK' }, budget)
      return true
    } catch {
      return false
    }
  }

  budget(signal?: AbortSignal): Budget {
    return budgetOf(this.#pool.options.timeout, signal)
  }
}

async function transaction<T>(
  client: Client,
  begin: Begin,
  work: (run: Run) => Promise<T>,
  budget: Budget,
): Promise<T> {
  const run: Run = (statement) => client.run(statement, budget)
  await run({ text: begin })
  let result: T
  try {
    result = await work(run)
  } catch (error) {
    // When a statement still runs, `release` cancels it and rolls back.
    if (!client.isBusy && isConnectionSound(error)) await client.run({ text: 'ROLLBACK' }, budgetOf(CANCEL_TIMEOUT))
    throw error
  }
  // PostgreSQL answers the COMMIT of a failed transaction with the command tag ROLLBACK, and without an error.
  const { command } = await run({ text: 'COMMIT' })
  if (command !== 'COMMIT') throw new ConnectionFault(`PostgreSQL answered COMMIT with ${command}`)
  return result
}

export type PoolShares = ReturnType<typeof dividePool>

/**
 * Divides the clients of a pool among kinds of work, so that no kind can stop another. Searches get a third of the
 * clients, long work too; imports get half of the others, and single plants the rest.
 *
 * @param isClosing returns the refusal while the store closes
 */
export function dividePool(pool: Pool, isClosing: () => AppError | undefined) {
  const { max } = pool.options
  const third = Math.max(1, Math.floor(max / 3))
  const imports = Math.max(1, Math.floor((max - 2 * third) / 2))
  const reserved = Math.max(1, max - 2 * third - imports)
  const all = Number.POSITIVE_INFINITY
  const open = { faultOf: appErrorOf, refusal: isClosing }
  const bounded = { ...open, reserved }
  return {
    /** For the server itself: its settings and the schema. It refuses nothing, and throws faults as they are. */
    server: new PoolShare(pool, all),
    /** For groups of single plants: those that wait are finished while the store closes. */
    groups: new PoolShare(pool, all, { faultOf: appErrorOf }),
    /** For tokens, webhooks and readiness. */
    main: new PoolShare(pool, all, open),
    searches: new PoolShare(pool, third, { ...bounded, work: 'searches' }),
    imports: new PoolShare(pool, imports, { ...bounded, work: 'imports' }),
    long: new PoolShare(pool, third, { ...bounded, work: 'exports and dry runs' }),
    /** For counts of all plants. The metrics need them too, and must not take the client of an export. */
    counts: new PoolShare(pool, 1, { ...bounded, work: 'counts' }),
    /** A reservation of ids locks a table, so several clients would wait for each other. */
    reservations: new PoolShare(pool, 1, { ...open, work: 'reservations of ids' }),
  }
}

export function storePool(pool: Pool, { searches, imports, long }: PoolShares): StorePool {
  return { uses: { all: pool.use, search: searches.use, import: imports.use, long: long.use } }
}
