import type { ListenAddress } from '../settings/config.ts'
import { DeferredTasks } from './connection/deferred-tasks.ts'
import { answerNotFound } from './not-found.ts'
import type { Contract } from './operations.ts'
import { Port, type PortOptions } from './port.ts'
import type { BodyMemory } from './request/body-memory.ts'
import { faultOfLocalHead } from './request/head.ts'
import { type Route, Router } from './router.ts'
import { addRoutes, type Handlers } from './routes.ts'

/** The operations of this port. They need no token here. */
const OPERATIONS = ['getMetrics', 'getLiveness', 'getReadiness'] as const

/** Open connections of monitors. */
const MAX_CONNECTIONS = 32

export type MonitoringHandlers = Pick<Handlers, (typeof OPERATIONS)[number]>

/** Makes a port for monitors alone, so that people who reach the port for clients cannot read the metrics. */
export function monitoringPort(
  contract: Contract,
  handlers: MonitoringHandlers,
  bodies: BodyMemory,
  { host }: ListenAddress,
  options: Omit<PortOptions, 'limits' | 'router' | 'deferred'>,
): Port {
  const { config, responder } = options
  const isLocal = /^(?:127\.|::1$|localhost$)/.test(host)
  const operations = contract.operations
    .filter(({ id }) => Object.hasOwn(handlers, id))
    .map((operation) => ({ ...operation, scopes: undefined }))
  const notFound = answerNotFound(operations, responder, 'this port has /metrics, /health/live and /health/ready')
  const router = new Router({ maxParamLength: config.headerLimit, notFound })
  addRoutes(router, { ...contract, operations }, handlers, {
    authorize: (_operation, next) => (isLocal ? fromThisMachine(next) : next),
    confirm: async () => {},
    responder,
    cors: undefined,
    bodies,
    overload: undefined,
  })
  const limits = { ...config, maxConnections: MAX_CONNECTIONS, maxAddressConnections: MAX_CONNECTIONS }
  return new Port({ ...options, router, limits, deferred: new DeferredTasks() })
}

const fromThisMachine =
  (next: Route): Route =>
  (exchange) => {
    const fault = faultOfLocalHead(exchange.request)
    if (fault !== undefined) throw fault
    next(exchange)
  }
