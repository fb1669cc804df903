import { once } from 'node:events'
import type { Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { promisify } from 'node:util'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { ClientAddresses } from './auth/client-address.ts'
import { type ConnectionBounds, Connections } from './connection/connections.ts'
import { httpServer } from './connection/server.ts'
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

  constructor({ config, limits, addresses, responder, state, router }: PortOptions) {
    this.connections = new Connections(limits, addresses, {
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
      note: (refusal, address) => responder.note(refusal, address),
    })
    this.server = httpServer(config, this.connections)
  }

  async listen(options: ListenOptions): Promise<void> {
    await once(this.server.listen({ backlog: BACKLOG, ...options }), 'listening')
  }

  /** Stops listening, and waits for the answers that are under way. */
  async close(): Promise<void> {
    const closed = this.server.listening ? promisify(this.server.close).call(this.server) : undefined
    this.connections.shutDown(shuttingDown())
    await closed
  }
}

export const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down')
