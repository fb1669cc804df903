import type { Socket } from 'node:net'
import type { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'
import { addressGroup } from '../../settings/network.ts'
import type { ClientAddresses } from '../auth/client-address.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { HttpError } from '../response/http-error.ts'
import { Connection, type ConnectionHandlers, type Shared } from './connection.ts'
import type { DeferredTasks } from './deferred-tasks.ts'
import { ReadScheduler } from './read-scheduler.ts'

export type ConnectionBounds = Pick<
  Config,
  'maxConnections' | 'maxAddressConnections' | 'pipelineLimit' | 'keepAliveTimeout' | 'headersTimeout'
>

/** Refused connections that stay open until their clients have the refusal. The service closes further ones at once. */
const MAX_REFUSED = 8

/** Milliseconds. An idle connection whose last answer is older may be closed to make room for another one. */
const MIN_IDLE = 1000

/** Milliseconds between two looks for idle connections, and the time that the service waits longer than it promises. */
const SWEEP_INTERVAL = 1000

/** Holds all client connections, and applies the bounds on them. */
export class Connections {
  readonly #limits: ConnectionBounds
  readonly #addresses: ClientAddresses
  readonly #shared: Shared
  readonly #all = new Map<Socket, Connection>()
  /** By group of addresses. Connections of trusted proxies are in no group, as many clients share a proxy. */
  readonly #groups = new Map<string, Set<Connection>>()
  /** Refused connections that are still open. */
  readonly #refused = new Set<Connection>()
  readonly #counts = { refused: 0, evicted: 0 }
  #pipelined = 0
  #sweeping: NodeJS.Timeout | undefined

  constructor(
    limits: ConnectionBounds,
    addresses: ClientAddresses,
    deferred: DeferredTasks,
    handlers: ConnectionHandlers,
  ) {
    this.#limits = limits
    this.#addresses = addresses
    const reading = new ReadScheduler(() => this.#all.values())
    // Large answers make turns long. If they began between a thousand new connections, the last of these would wait for
    // a thousand long turns.
    const work = (exchange: Exchange): void => {
      if (!deferred.isAccepting) handlers.work(exchange)
      else
        deferred.add(() => {
          if (!exchange.isOver) handlers.work(exchange)
        })
    }
    this.#shared = { handlers: { ...handlers, work }, reading, deferred, account: (bytes) => this.#account(bytes) }
  }

  /** Registers the metrics of connections. */
  describe(metrics: Metrics): void {
    metrics.value('plantstore_connections', () => this.#all.size)
    metrics.value('plantstore_connections_limit', () => this.#limits.maxConnections)
    metrics.value('plantstore_pipelined_bytes', () => this.#pipelined)
    metrics.value('plantstore_connections_refused_total', () => this.#counts.refused)
    metrics.value('plantstore_connections_evicted_total', () => this.#counts.evicted)
    metrics.bound('maxConnections', this.#limits.maxConnections, () => this.#all.size)
    metrics.bound('pipelineLimit', this.#limits.pipelineLimit, () => this.#pipelined)
  }

  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket)
  }

  /** Adds a new connection. Past a bound, it closes an idle connection, or refuses the new one when none is idle. */
  add(socket: Socket): void {
    const remote = socket.remoteAddress ?? ''
    const group = this.#addresses.isProxy(remote) ? undefined : this.#groupOf(addressGroup(remote))
    const connection = new Connection(socket, this.#shared)
    const refusal = this.#refusalFor(group)
    this.#all.set(socket, connection)
    if (this.#limits.keepAliveTimeout > 0) this.#sweeping ??= setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref()
    group?.add(connection)
    // Node.js takes its own listener off at a CONNECT, after which a reset would end the process.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#all.delete(socket)
      if (this.#all.size === 0) this.#stopSweeping()
      this.#refused.delete(connection)
      group?.delete(connection)
      if (group?.size === 0) this.#groups.delete(addressGroup(remote))
    })
    this.#shared.deferred.accept()
    if (refusal === undefined) this.#shared.reading.add(connection)
    else this.#refuse(connection, refusal)
  }

  /** Refuses the requests whose rest has not arrived, and ends each connection after its answer. */
  shutDown(refusal: AppError): void {
    for (const connection of this.#all.values()) connection.shutDown(refusal)
  }

  /**
   * Closes idle connections. Node's own timer for each connection, which it sets and clears with each request, took a
   * read under overload 0.6 of 20 µs (docs/decisions/0035-overload.md).
   */
  #sweep(): void {
    const { keepAliveTimeout, headersTimeout } = this.#limits
    const before = performance.now() - keepAliveTimeout - SWEEP_INTERVAL
    // The deadline of a head that began in time is over before.
    const ifRead = headersTimeout === 0 ? 0 : before - headersTimeout - 2 * SWEEP_INTERVAL
    for (const connection of this.#all.values()) connection.closeIdle(before, ifRead)
  }

  #stopSweeping(): void {
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  #groupOf(name: string): Set<Connection> {
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    const group = new Set<Connection>()
    this.#groups.set(name, group)
    return group
  }

  #refusalFor(group: Set<Connection> | undefined): AppError | undefined {
    const { maxConnections, maxAddressConnections } = this.#limits
    if (group !== undefined && group.size >= maxAddressConnections && !this.#evictFrom(group)) {
      const message = `at most ${maxAddressConnections} connections from one address are allowed; close some`
      return new HttpError(42901, message, { headers: { Connection: 'close' } })
    }
    if (this.#all.size - this.#refused.size < maxConnections || this.#evictFrom(this.#all.values())) return undefined
    return overloaded('too many connections are open; retry in a second')
  }

  /**
   * Closes the oldest connection without a request so far, or else the connection that has been idle for longest. A
   * connection stays for MIN_IDLE milliseconds after its last answer, as its client may have sent the next request
   * already.
   *
   * @returns false when no connection may be closed
   */
  #evictFrom(connections: Iterable<Connection>): boolean {
    let idle: Connection | undefined
    let since = Math.max(1, performance.now() - MIN_IDLE)
    for (const connection of connections) {
      if (!connection.isIdle || connection.answeredAt >= since) continue
      idle = connection
      since = connection.answeredAt
      if (since === 0) break
    }
    if (idle === undefined) return false
    this.#counts.evicted++
    idle.destroy()
    return true
  }

  #refuse(connection: Connection, refusal: AppError): void {
    this.#counts.refused++
    if (this.#refused.size >= MAX_REFUSED) {
      connection.destroy()
    } else {
      this.#refused.add(connection)
      connection.deny(refusal)
    }
  }

  /** Counts the bytes of pipelined requests. Past the bound, refuses the connection that holds most of them. */
  #account(bytes: number): void {
    this.#pipelined += bytes
    // A release, even of 0 bytes, refuses no connection: a refused connection releases its own bytes here.
    if (bytes <= 0 || this.#pipelined <= this.#limits.pipelineLimit) return
    let largest: Connection | undefined
    for (const connection of this.#all.values()) {
      if (connection.queuedBytes > (largest?.queuedBytes ?? 0)) largest = connection
    }
    if (largest === undefined) return
    this.#refuse(largest, overloaded('too many pipelined requests are queued; send fewer at a time'))
  }
}

const overloaded = (message: string): AppError => new HttpError(50302, message, { headers: { Connection: 'close' } })
