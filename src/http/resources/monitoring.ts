import { AppError } from '../../domain/errors.ts'
import type { Store } from '../../domain/store.ts'
import type { Exchange } from '../exchange.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ShardState } from '../metrics/service-metrics.ts'
import { JSON_TYPE, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import type { ServiceState } from '../service-state.ts'

/** Milliseconds for which the result of a check is cached, so that probes cost at most one write per second. */
const CHECK_TTL = 1000

/** The handlers of liveness, readiness and metrics: for supervisors, load balancers and Prometheus. */
export function monitoringHandlers(
  store: Store,
  responder: Responder,
  state: ServiceState,
  metrics: Metrics,
  shards: (() => ShardState | undefined) | undefined,
): Pick<Handlers, 'getLiveness' | 'getReadiness' | 'getMetrics'> {
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
      if (state.current !== 'serving') throw new AppError(50303, 'the service is shutting down')
      checkStore()
        .then(() => reply(exchange, JSON_TYPE, ready(shards?.())))
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
    getMetrics(exchange) {
      metrics
        .text()
        .then((text) => reply(exchange, metrics.contentType, text))
        .catch((error: unknown) => responder.refuse(exchange, error))
    },
  }
}

const ready = (state: ShardState | undefined): string =>
  state === undefined
    ? '{"status":"ready"}'
    : `{"status":"ready","shards":${state.shards},"shardsOutOfReach":${state.outOfReach}}`
