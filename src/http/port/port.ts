import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import { createServer as createSecureServer, Server as SecureServer } from 'node:https'
import type { ListenOptions, Socket } from 'node:net'
import { promisify } from 'node:util'
import { Bound } from '../../base/counts.ts'
import { http } from '../../base/http.ts'
import { addressGroup, type ClientAddresses } from '../../base/network.ts'
import { AppError } from '../../domain/errors.ts'
import type { Config } from '../../settings/config.ts'
import type { DeferredTasks } from '../admission/turns.ts'
import type { Responder, ServiceState } from '../answer/responder.ts'
import { closing } from '../refusal.ts'
import type { Exchange } from '../request/exchange.ts'
import type { Router } from '../router.ts'
import { Connection, type Shared } from './connection.ts'
import { Handshakes } from './handshakes.ts'
import { ReadScheduler } from './read-scheduler.ts'
import { checkHead, originIn, type ParserError, refusalOfError } from './refusals.ts'

export interface PortOptions {
  readonly config: Config
  readonly addresses: ClientAddresses
  readonly responder: Responder
  readonly state: ServiceState
  readonly router: Router
  readonly deferred: DeferredTasks
  /** Undefined: the port speaks HTTP without TLS. */
  readonly certificate: CertificatePair | undefined
}

/** A certificate with its chain, and its private key, in PEM. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/**
 * Authenticated encryption with forward secrecy alone (RFC 9325 section 4.2). By default Node.js also takes CBC, and keys
 * that a stolen private key of the certificate opens later. Every browser since 2014 has one of these.
 */
const CIPHERS = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].flatMap((suite) => [
    `ECDHE-ECDSA-${suite}`,
    `ECDHE-RSA-${suite}`,
  ]),
]

/** The options of TLS besides the certificate. All others are the defaults of Node.js, ALPN of http/1.1 alone included. */
const TLS = { minVersion: 'TLSv1.2', ciphers: CIPHERS.join(':') } as const

/**
 * The length of the operating system's queue of new connections. The system lowers it to its own limit, on Linux
 * net.core.somaxconn. When the queue is full, Linux resets connections of any client. A burst exceeds the 511 of
 * Node.js.
 */
const BACKLOG = 65_535

/** A server on one port, with the bounds on its connections. It listens only after `listen`. */
export class Port {
  readonly server: Server | SecureServer
  readonly connections: Connections
  readonly #responder: Responder

  constructor({ config, addresses, responder, state, router, deferred, certificate }: PortOptions) {
    this.connections = new Connections(config, addresses, deferred, responder, (exchange) => {
      try {
        if (state.current === 'closing') throw shuttingDown()
        checkHead(exchange.request)
        router.route(exchange)
      } catch (error) {
        responder.refuse(exchange, error)
      }
    })
    this.server = httpServer(config, this.connections, certificate, deferred)
    this.#responder = responder
  }

  /** Serves new connections with this certificate. Open ones go on. Only for a port that began with one. */
  useCertificate(pair: CertificatePair): void {
    if (this.server instanceof SecureServer) this.server.setSecureContext({ ...TLS, ...pair })
  }

  async listen(options: ListenOptions): Promise<void> {
    await once(this.server.listen({ backlog: BACKLOG, ...options }), 'listening')
    this.server.on('error', (cause) => {
      this.#responder.note(new AppError(50302, 'a connection could not be accepted', { cause }), undefined)
    })
  }

  /** Stops listening, and waits for the answers that are under way. */
  async close(): Promise<void> {
    const closed = this.server.listening ? promisify(this.server.close).call(this.server) : undefined
    this.connections.shutDown(shuttingDown())
    await closed
  }
}

export const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down')

/** Node's HTTP server with the limits of the configuration. It sends no answers of its own. */
function httpServer(
  config: Config,
  connections: Connections,
  certificate: CertificatePair | undefined,
  deferred: DeferredTasks,
): Server | SecureServer {
  const options: ServerOptions = {
    headersTimeout: config.headersTimeout,
    requestTimeout: config.requestTimeout,
    connectionsCheckingInterval: 1000,
    // Connections closes idle connections, and Responder says when.
    keepAliveTimeout: 0,
    maxHeaderSize: config.headerLimit,
    // By default Node.js refuses a request without Host without our error body, and drops duplicates of some headers.
    requireHostHeader: false,
    // A request that announces no body then ends with its head, without the events of a stream. This saves a read 0.4 µs.
    optimizeEmptyRequests: true,
    joinDuplicateHeaders: true,
  }
  const server =
    certificate === undefined ? http.createServer(options) : createSecureServer({ ...options, ...TLS, ...certificate })
  if (server instanceof SecureServer) new Handshakes(server, connections, deferred, config.headersTimeout)
  else server.on('connection', (socket) => connections.add(socket))
  const take = ({ socket }: IncomingMessage, response: ServerResponse) => connections.of(socket)?.take(response)
  server.on('request', take)
  // Exchange.askForBody sends 100 Continue.
  server.on('checkContinue', take)
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', take)
  server.on('clientError', (error: ParserError, stream) => {
    const socket = stream as Socket
    const connection = connections.of(socket)
    const isStreaming = connection?.isStreaming === true
    // A body that a handler reads in pieces has deadlines of its own (slow-clients.ts).
    if (isStreaming && error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return
    const isLost = error.code === 'ECONNRESET' || (isStreaming && error.code === 'HPE_INVALID_EOF_STATE')
    if (isLost || connection === undefined) socket.destroy()
    else connection.refuse(refusalOfError(error), originIn(error))
  })
  server.on('connect', ({ socket, headers: { origin } }, stream) => {
    // While the body arrives, the stream is no socket, and fails with an event of its own.
    stream.on('error', () => {})
    connections.of(socket)?.refuseTunnel(origin)
  })
  return server
}

type ConnectionBounds = Pick<
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
  readonly open: Bound
  /** Bytes of requests that wait behind others of their connection. */
  readonly pipelined: Bound
  readonly #limits: ConnectionBounds
  readonly #addresses: ClientAddresses
  readonly #shared: Shared
  readonly #all = new Map<Socket, Connection>()
  /** By group of addresses. Connections of trusted proxies are in no group, as many clients share a proxy. */
  readonly #groups = new Map<string, Set<Connection>>()
  readonly #refused = new Set<Connection>()
  readonly #sweeping: NodeJS.Timeout

  constructor(
    limits: ConnectionBounds,
    addresses: ClientAddresses,
    deferred: DeferredTasks,
    responder: Responder,
    answer: (exchange: Exchange) => void,
  ) {
    this.#limits = limits
    this.open = new Bound(limits.maxConnections)
    this.pipelined = new Bound(limits.pipelineLimit)
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_INTERVAL).unref()
    this.#addresses = addresses
    // Large answers make turns long. If they began between a thousand new connections, the last of these would wait for
    // a thousand long turns.
    const work = (exchange: Exchange): void => {
      if (!deferred.isAccepting) answer(exchange)
      else
        deferred.add(() => {
          if (!exchange.isOver) answer(exchange)
        })
    }
    const reading = new ReadScheduler(() => this.#all.values(), deferred)
    this.#shared = { responder, work, reading, deferred, account: (bytes) => this.#account(bytes) }
  }

  of(socket: Socket): Connection | undefined {
    return this.#all.get(socket)
  }

  /**
   * Adds a new connection. Past a bound, it closes an idle connection, or refuses the new one when none is idle.
   *
   * @param isSecuring whether a TLS handshake comes first, after which `secure` follows
   */
  add(socket: Socket, isSecuring = false): Connection {
    const remote = socket.remoteAddress ?? ''
    const name = addressGroup(remote)
    const group = this.#addresses.isProxy(remote) ? undefined : (this.#groups.get(name) ?? new Set())
    const connection = new Connection(socket, this.#shared, isSecuring)
    const refusal = this.#refusalFor(group)
    this.#all.set(socket, connection)
    this.open.used++
    if (group !== undefined) this.#groups.set(name, group.add(connection))
    // Node.js takes its own listener off at a CONNECT, after which a reset would end the process.
    socket.on('error', () => {})
    socket.once('close', () => {
      this.#all.delete(connection.socket)
      this.open.used--
      this.#refused.delete(connection)
      group?.delete(connection)
      if (group?.size === 0) this.#groups.delete(name)
    })
    this.#shared.deferred.accept()
    if (refusal !== undefined) this.#refuse(connection, refusal)
    else if (!isSecuring) this.#shared.reading.add(connection)
    return connection
  }

  /** Continues a connection after its TLS handshake. @param socket the decrypted side of the socket that was added */
  secure(connection: Connection, socket: Socket): void {
    this.#all.delete(connection.socket)
    this.#all.set(socket, connection)
    socket.on('error', () => {})
    connection.secure(socket)
    this.#shared.reading.add(connection)
  }

  /** Refuses the requests whose rest has not arrived, and ends each connection after its answer. */
  shutDown(refusal: AppError): void {
    clearInterval(this.#sweeping)
    for (const connection of this.#all.values()) connection.shutDown(refusal)
  }

  /**
   * Closes idle connections. Node's own timer for each connection, which it sets and clears with each request, took a
   * read under overload 0.6 of 20 µs (docs/decisions/0035-overload.md).
   */
  #sweep(): void {
    const { keepAliveTimeout, headersTimeout } = this.#limits
    if (keepAliveTimeout === 0) return
    const before = performance.now() - keepAliveTimeout - SWEEP_INTERVAL
    // The deadline of a head that began in time is over before.
    const ifRead = headersTimeout === 0 ? 0 : before - headersTimeout - 2 * SWEEP_INTERVAL
    for (const connection of this.#all.values()) connection.closeIdle(before, ifRead)
  }

  #refusalFor(group: Set<Connection> | undefined): AppError | undefined {
    const { maxConnections, maxAddressConnections } = this.#limits
    if (group !== undefined && group.size >= maxAddressConnections && !this.#evictFrom(group)) {
      const message = `at most ${maxAddressConnections} connections from one address are allowed; close some`
      return closing(42901, message)
    }
    if (this.open.used - this.#refused.size < maxConnections || this.#evictFrom(this.#all.values())) return undefined
    return closing(50302, 'too many connections are open; retry in a second')
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
    idle.destroy()
    return true
  }

  #refuse(connection: Connection, refusal: AppError): void {
    this.open.refused++
    if (this.#refused.size >= MAX_REFUSED) {
      connection.destroy()
    } else {
      this.#refused.add(connection)
      connection.deny(refusal)
    }
  }

  /** Counts the bytes of pipelined requests. Past the bound, refuses the connection that holds most of them. */
  #account(bytes: number): void {
    this.pipelined.used += bytes
    // A release, even of 0 bytes, refuses no connection: a refused connection releases its own bytes here.
    if (bytes <= 0 || this.pipelined.hasRoom(0)) return
    this.pipelined.refused++
    let largest: Connection | undefined
    for (const connection of this.#all.values()) {
      if (connection.queuedBytes > (largest?.queuedBytes ?? 0)) largest = connection
    }
    if (largest === undefined) return
    this.#refuse(largest, closing(50302, 'too many pipelined requests are queued; send fewer at a time'))
  }
}

/**
 * The number of connections that leaves enough file descriptors to the store, the log and exports. It is at least half
 * of the process's limit.
 *
 * @param reserve descriptors for all other files; an idle service on SQLite has 36 open
 */
export function descriptorsForConnections(reserve: number): number {
  const limit = openFileLimit()
  return limit - Math.min(reserve, Math.ceil(limit / 2))
}

function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Only Linux has this file. Windows has no such limit, and Node.js raises that of macOS to the maximum.
    return Number.POSITIVE_INFINITY
  }
}
