import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolUse } from '../../domain/store.ts'
import type { PostgresAddress } from '../../settings/postgres-address.ts'
import { ConnectionFault, isRefusal } from '../errors.ts'
import { type Budget, Client, PLANNER_SETTINGS, type SessionSettings, timeLeft, within } from './client.ts'

export interface PoolOptions {
  readonly address: PostgresAddress
  /** Connections that may be open at once. */
  readonly max: number
  /** Milliseconds that a request may take, from its call to its answer. */
  readonly timeout: number
  readonly settings?: SessionSettings
  readonly onTrouble: (error: Error) => void
}

/** Milliseconds for which the pool opens no connection beyond the lower capacity, after the server refused one. */
const CAPACITY_PAUSE = 1000
/** Milliseconds between two attempts to open a connection while none is open. */
const INTERVAL = 50

/**
 * Opens clients of one database on demand, and reuses them. docs/decisions/0017-postgresql.md gives the reasons against
 * pg-pool.
 */
export class Pool {
  readonly options: PoolOptions
  readonly #idle: Client[] = []
  readonly #semaphore: Semaphore
  readonly #whenFree: (() => void)[] = []
  #capacity: number
  #hasOpened = false
  /** The host to try first: the last one that accepted a connection. */
  #host = 0

  constructor(options: PoolOptions) {
    this.options = options
    this.#capacity = options.max
    this.#semaphore = new Semaphore(
      () => this.#capacity,
      () => new ConnectionFault(`none of ${this.#capacity} connections became free`),
    )
  }

  /** The number of connections that may be open now: `max`, or fewer after the server refused one. */
  get capacity(): number {
    return this.#capacity
  }

  get use(): PoolUse {
    return this.#semaphore
  }

  /** Returns a client for one caller alone, who passes it back to `release`. */
  async acquire(budget: Budget): Promise<Client> {
    await this.#semaphore.acquire(budget)
    for (;;) {
      const idle = this.#idle.pop()
      if (idle !== undefined) return idle
      try {
        return await this.#open(budget)
      } catch (error) {
        if (!isRefusal(error) || timeLeft(budget) === 0) {
          this.#giveBack()
          throw error
        }
      }
      // Retry after another caller releases a client, or the server accepts connections again.
      const others = this.#semaphore.used - 1
      this.#lowerCapacity(Math.max(1, others))
      if (others === 0) await sleep(Math.min(INTERVAL, timeLeft(budget)))
      this.#giveBack()
      await this.#semaphore.acquire(budget, { ahead: true })
    }
  }

  release(client: Client, isSound: boolean): void {
    if (!isSound || !client.isAlive) client.end()
    else this.#idle.push(client)
    this.#giveBack()
  }

  async close(): Promise<void> {
    if (this.#semaphore.used > 0) await new Promise<void>((resolve) => this.#whenFree.push(resolve))
    for (const client of this.#idle.splice(0)) client.end()
  }

  #giveBack(): void {
    this.#semaphore.release()
    if (this.#semaphore.used === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
  }

  #lowerCapacity(connections: number): void {
    const wasFull = this.#capacity === this.options.max
    this.#capacity = Math.min(this.#capacity, connections)
    if (!wasFull) return
    setTimeout(() => {
      this.#capacity = this.options.max
      this.#semaphore.startNext()
    }, CAPACITY_PAUSE).unref()
  }

  /** Opens a connection to the first host that accepts one. */
  async #open(budget: Budget): Promise<Client> {
    const { address, timeout, settings = PLANNER_SETTINGS } = this.options
    const { hosts } = address
    let fault: unknown
    for (let i = 0; i < hosts.length; i++) {
      const first = this.#host
      const host = hosts[first % hosts.length]
      if (host === undefined) break
      // Each host gets an equal share of the time, so a silent host does not use it up.
      const left = Math.ceil(timeLeft(budget) / (hosts.length - i))
      if (left === 0) throw fault ?? new ConnectionFault('the deadline passed before the connection was opened')
      try {
        const options = { timeout, left, settings, isFirst: !this.#hasOpened }
        const client = await Client.open(address, host, options, (...ended) => this.#ended(...ended))
        this.#hasOpened = true
        return client
      } catch (error) {
        // "Too many connections" of one host says more than "is a standby" of another.
        if (!isRefusal(fault)) fault = error
        // Several callers may fail on one host at once. Only the first one advances to the next host.
        if (this.#host === first) this.#host++
      }
    }
    throw fault
  }

  #ended(client: Client, error: Error | undefined): void {
    const at = this.#idle.indexOf(client)
    if (at === -1) return
    this.#idle.splice(at, 1)
    this.options.onTrouble(error ?? new Error('the server ended a connection'))
  }
}

/** A counting semaphore whose limit may change. Callers wait in FIFO order, each until the end of its budget. */
export class Semaphore implements PoolUse {
  readonly #limit: () => number
  readonly #late: () => Error
  readonly #line: (() => void)[] = []
  used = 0
  refused = 0

  /** @param late makes the error for a caller whose budget ends while it waits */
  constructor(limit: () => number, late: () => Error) {
    this.#limit = limit
    this.#late = () => {
      this.refused++
      return late()
    }
  }

  get max(): number {
    return this.#limit()
  }

  get waiting(): number {
    return this.#line.length
  }

  /** Takes a permit, or waits for one until the budget ends. @param ahead whether it waits before all others */
  async acquire(budget: Budget, { ahead = false } = {}): Promise<void> {
    if (this.#line.length === 0 && this.used < this.#limit()) {
      this.used++
      return
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    if (ahead) this.#line.unshift(resolve)
    else this.#line.push(resolve)
    try {
      await within(promise, budget, this.#late)
    } catch (error) {
      const at = this.#line.indexOf(resolve)
      if (at === -1) this.release()
      else this.#line.splice(at, 1)
      throw error
    }
  }

  release(): void {
    this.used--
    this.startNext()
  }

  /** Admits waiting callers up to the limit. Call it after the limit has risen. */
  startNext(): void {
    while (this.used < this.#limit()) {
      const next = this.#line.shift()
      if (next === undefined) return
      this.used++
      next()
    }
  }
}
