import { isLoopback } from '../base/network.ts'
import type { ListenAddress } from '../settings/config.ts'
import { DeferredTasks } from './admission/turns.ts'
import { JSON_TYPE, type Responder, type ServiceState } from './answer/responder.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { ServedStore } from './metrics/service-metrics.ts'
import { Port, type PortOptions, shuttingDown } from './port/port.ts'
import { checkLocalHead } from './port/refusals.ts'
import type { Exchange, Route } from './request/exchange.ts'
import type { Contract } from './request/operations.ts'
import { addRoutes, answerNotFound, type Handlers, type MONITORING, Router } from './router.ts'

const MAX_CONNECTIONS = 32

type MonitoringHandlers = Pick<Handlers, (typeof MONITORING)[number]>

/**
 * Makes a port for monitors alone, so that people who reach the port for clients cannot read the metrics. It has no TLS:
 * its default is the machine itself.
 */
export function monitoringPort(
  contract: Contract,
  handlers: MonitoringHandlers,
  { host }: ListenAddress,
  options: Omit<PortOptions, 'router' | 'deferred' | 'certificate'>,
): Port {
  const { responder } = options
  const config = { ...options.config, maxConnections: MAX_CONNECTIONS, maxAddressConnections: MAX_CONNECTIONS }
  const isLocal = isLoopback(host)
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
    overload: undefined,
  })
  return new Port({ ...options, config, router, deferred: new DeferredTasks(), certificate: undefined })
}

const fromThisMachine =
  (next: Route): Route =>
  (exchange) => {
    checkLocalHead(exchange.request)
    next(exchange)
  }

/** Milliseconds for which the result of a check is cached, so that probes cost at most one write per second. */
const CHECK_TTL = 1000

/** The handlers of liveness, readiness and metrics: for supervisors, load balancers and Prometheus. */
export function monitoringHandlers(
  store: ServedStore,
  responder: Responder,
  state: ServiceState,
  metrics: Metrics,
): MonitoringHandlers {
  let checkedAt = Number.NEGATIVE_INFINITY
  let check: Promise<unknown> = Promise.resolve()

  function checkStore(): Promise<unknown> {
    if (performance.now() - checkedAt > CHECK_TTL) {
      checkedAt = performance.now()
      check = Promise.all([store.checkWritable(), store.checkSearchable()])
    }
    return check
  }

  const reply = (exchange: Exchange, type: string, body: string) =>
    responder.reply(exchange, 200, ['Content-Type', type, 'Cache-Control', 'no-store'], body)

  return {
    getLiveness: (exchange) => reply(exchange, JSON_TYPE, '{"status":"live"}'),
    getReadiness(exchange) {
      if (state.current !== 'serving') throw shuttingDown()
      return checkStore().then(() => reply(exchange, JSON_TYPE, '{"status":"ready"}'))
    },
    getMetrics: (exchange) => metrics.text().then((text) => reply(exchange, metrics.contentType, text)),
  }
}
