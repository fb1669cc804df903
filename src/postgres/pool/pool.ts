import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresAddress } from '../../postgres-address.ts'
import { ConnectionFault, isRefusal } from '../errors.ts'
import { type Budget, timeLeft } from './budget.ts'
import { Connection } from './client.ts'
import { Places } from './semaphore.ts'

export interface PoolOptions {
  readonly address: PostgresAddress
  /** Connections that may be open at once. */
  readonly max: number
  /** Milliseconds that a request may take, from its call to its answer. */
  readonly timeout: number
  /** Told of a connection that broke while nobody used it. */
  readonly onTrouble: (error: Error) => void
}

/** After the server has refused a further connection, how long we make do with those that are open, in ms. */
const CONTENTED = 1000
/** Between two attempts where none is open, in ms. */
const INTERVAL = 50

/** Connections to one database, opened when they are needed and kept for the next. */
export class Pool {
  readonly options: PoolOptions
  readonly #idle: Connection[] = []
  readonly #places: Places
  readonly #whenFree: (() => void)[] = []
  #capacity: number
  /** Which of the hosts is tried first: the last that took a connection. */
  #turn = 0

  constructor(options: PoolOptions) {
    this.options = options
    this.#capacity = options.max
    this.#places = new Places(
      () => this.#capacity,
      () => new ConnectionFault(`none of ${this.#capacity} connections became free`),
    )
  }

  /** Connections that may be open now: `max`, or as many as the server lets us have. */
  get capacity(): number {
    return this.#capacity
  }

  /** A connection for one user alone, who gives it back by `release`. */
  async take(budget: Budget): Promise<Connection> {
    await this.#places.take(budget)
    for (;;) {
      const idle = this.#popIdle()
      if (idle !== undefined) return idle
      try {
        return await this.#open(budget)
      } catch (error) {
        if (!isRefusal(error) || timeLeft(budget) === 0) {
          this.#giveBack()
          throw error
        }
      }
      // The connections that others have become free, or the server has a place again.
      const others = this.#places.taken - 1
      this.#makeDoWith(Math.max(1, others))
      if (others === 0) await sleep(Math.min(INTERVAL, timeLeft(budget)))
      this.#giveBack()
      await this.#places.take(budget, { ahead: true })
    }
  }

  /** Takes back a connection, and ends it where it can't be used again. */
  release(connection: Connection, isSound: boolean): void {
    if (!isSound || !connection.isAlive) connection.end()
    else this.#idle.push(connection)
    this.#giveBack()
  }

  /** Waits until nobody uses one any more, and ends them all. */
  async close(): Promise<void> {
    if (this.#places.taken > 0) await new Promise<void>((resolve) => this.#whenFree.push(resolve))
    for (const connection of this.#idle.splice(0)) connection.end()
  }

  #giveBack(): void {
    this.#places.giveBack()
    if (this.#places.taken === 0) for (const resolve of this.#whenFree.splice(0)) resolve()
  }

  #makeDoWith(connections: number): void {
    const wasFull = this.#capacity === this.options.max
    this.#capacity = Math.min(this.#capacity, connections)
    if (!wasFull) return
    setTimeout(() => {
      this.#capacity = this.options.max
      this.#places.admit()
    }, CONTENTED).unref()
  }

  /** Opens one to the first host that takes it. */
  async #open(budget: Budget): Promise<Connection> {
    const { address, timeout } = this.options
    const { hosts } = address
    let fault: unknown
    for (let i = 0; i < hosts.length; i++) {
      const turn = this.#turn
      const host = hosts[turn % hosts.length]
      if (host === undefined) break
      // A host that does not answer leaves the others their share of the time.
      const left = Math.ceil(timeLeft(budget) / (hosts.length - i))
      if (left === 0) throw fault ?? new ConnectionFault('there was no time left to connect')
      try {
        return await Connection.open(address, host, { timeout, left }, (...ended) => this.#ended(...ended))
      } catch (error) {
        // That a host takes no more connections says more than that another one is a standby.
        if (!isRefusal(fault)) fault = error
        // Many may fail on one host at once; its turn ends only once.
        if (this.#turn === turn) this.#turn++
      }
    }
    throw fault
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
    this.options.onTrouble(error ?? new Error('the server ended a connection'))
  }
}
