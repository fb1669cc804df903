import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { ListenOptions, Socket } from 'node:net'
import { promisify } from 'node:util'
import { AppError } from '../domain/errors.ts'
import type { Config } from '../settings/config.ts'
import type { ClientAddresses } from './auth/client-address.ts'
import { originIn, type ParserError, refusalOfError, unknownMethod } from './connection/connection-errors.ts'
import { type ConnectionBounds, Connections } from './connection/connections.ts'
import type { DeferredTasks } from './connection/deferred-tasks.ts'
import { RequestLines } from './connection/request-lines.ts'
import { faultOfHead } from './request/head.ts'
import type { Responder } from './response/responder.ts'
import type { Router } from './router.ts'
import type { ServiceState } from './service-state.ts'

export interface PortOptions {
  readonly config: Config
  readonly limits: ConnectionBounds
  readonly addresses: ClientAddresses
  readonly responder: Responder
  readonly state: ServiceState
  readonly router: Router
  /** Begins requests that have to wait. */
  readonly deferred: DeferredTasks
}

/**
 * The length of the operating system's queue of new connections. The system lowers it to its own limit, on Linux
 * net.core.somaxconn. When the queue is full, Linux resets connections of any client. A burst exceeds the 511 of
 * Node.js.
 */
const BACKLOG = 65_535

/** A server on one port, with the bounds on its connections. It listens only after `listen`. */
export class Port {
  readonly server: Server
  readonly connections: Connections
  readonly #responder: Responder

  constructor({ config, limits, addresses, responder, state, router, deferred }: PortOptions) {
    this.connections = new Connections(limits, addresses, deferred, {
      work(exchange) {
        try {
          if (state.current === 'closing') throw shuttingDown()
          const fault = faultOfHead(exchange.request)
          if (fault !== undefined) throw fault
          router.route(exchange)
        } catch (error) {
          responder.refuse(exchange, error)
        }
      },
      refuse: (exchange, refusal) => responder.refuse(exchange, refusal),
      note: (refusal, address, origin) => responder.note(refusal, address, origin),
    })
    this.server = httpServer(config, this.connections)
    this.#responder = responder
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
function httpServer(config: Config, connections: Connections): Server {
  const server = createServer({
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
  })
  server.on('connection', (socket) => connections.add(socket))
  const take = ({ socket }: IncomingMessage, response: ServerResponse) => connections.of(socket)?.take(response)
  server.on('request', take)
  // Exchange.askForBody sends 100 Continue.
  server.on('checkContinue', take)
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', take)
  const lines = new RequestLines()
  server.on('clientError', (error: ParserError, stream) => {
    const socket = stream as Socket
    const connection = connections.of(socket)
    const refuse = (refusal: AppError) => connection?.refuse(refusal, originIn(error))
    if (connection === undefined || error.code === 'ECONNRESET') socket.destroy()
    else if (error.code === 'HPE_INVALID_METHOD') {
      lines.take(socket, error, (isLine) => refuse(isLine ? unknownMethod() : refusalOfError(error)))
    } else if (!connection.isStreaming) refuse(refusalOfError(error))
    // A body that a handler reads in pieces has deadlines of its own (minimum-rate.ts).
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return
    else if (error.code === 'HPE_INVALID_EOF_STATE') socket.destroy()
    else refuse(refusalOfError(error))
  })
  server.on('connect', ({ socket, headers: { origin } }, stream) => {
    // While the body arrives, the stream is no socket, and fails with an event of its own.
    stream.on('error', () => {})
    connections.of(socket)?.refuseTunnel(origin)
  })
  return server
}
