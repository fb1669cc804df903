import type { Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import type { Logger } from 'pino'
import { type AuditLog, NO_AUDIT } from '../domain/audit.ts'
import { AppError } from '../domain/errors.ts'
import { Admission } from './admission/admission.ts'
import { Overload } from './admission/overload.ts'
import { authorizeOperations } from './auth/authorize.ts'
import { Auth } from './auth/bearer.ts'
import { ClientAddresses } from './auth/client-address.ts'
import { TokenWatch } from './auth/token-watch.ts'
import { DeferredTasks } from './connection/deferred-tasks.ts'
import { descriptorsForConnections } from './connection/descriptors.ts'
import { type ObservedParts, serviceMetrics } from './metrics/service-metrics.ts'
import { monitoringPort } from './monitoring-port.ts'
import { answerNotFound } from './not-found.ts'
import type { Contract } from './operations.ts'
import { Port, shuttingDown } from './port.ts'
import { BodyMemory } from './request/body-memory.ts'
import { docsHandlers } from './resources/docs.ts'
import { exportHandlers } from './resources/export.ts'
import { idHandlers } from './resources/ids.ts'
import { importHandlers } from './resources/import.ts'
import { monitoringHandlers } from './resources/monitoring.ts'
import { pageHandlers } from './resources/page.ts'
import { plantListHandlers } from './resources/plant-list.ts'
import { checkPlantSchemas } from './resources/plant-schemas.ts'
import { plantHandlers } from './resources/plants.ts'
import { tagHandlers } from './resources/tags.ts'
import { tokenHandlers } from './resources/tokens.ts'
import { Cors } from './response/cors.ts'
import { Responder } from './response/responder.ts'
import { Router } from './router.ts'
import { addRoutes, type Handlers } from './routes.ts'
import type { ServiceState } from './service-state.ts'

export interface AppOptions extends ObservedParts {
  readonly contract: Contract
  readonly log: Logger
  /** The log of all changes; by default none. */
  readonly audit?: AuditLog
  readonly state: ServiceState
}

/** The HTTP side of the service. */
export interface App {
  readonly server: Server
  /** The port for monitors; undefined where they use the one for clients. */
  readonly monitors: Port | undefined
  listen(options: ListenOptions): Promise<void>
  /** Stops listening, ends imports, and waits for the answers under way. */
  close(): Promise<void>
}

/** Builds the HTTP side of the service from its contract. It does not listen. */
export function buildApp(options: AppOptions): App {
  const { config, contract, store, log, audit = NO_AUDIT, state, pool, shards } = options
  checkPlantSchemas(contract.document)
  const metrics = serviceMetrics(options)
  const addresses = new ClientAddresses(config.trustedProxies)
  const cors = config.corsOrigins === undefined ? undefined : new Cors(config.corsOrigins)
  const responder = new Responder({ log, audit, metrics, state, addresses, cors, limits: config })
  const auth = new Auth({
    tokens: store.tokens,
    configuredToken: config.token,
    failureLimit: config.authFailureLimit,
    addresses,
    onTouchFailure: (error) => log.warn({ err: error }, 'the last use of a token could not be recorded'),
  })
  const deferred = new DeferredTasks()
  const admission = new Admission(config, { tokens: new TokenWatch(auth), deferred, maxLongWork: pool?.maxLongWork })
  admission.describe(metrics)
  const stopping = new AbortController()
  const notFound = answerNotFound(contract.operations, responder, '/openapi.json lists all paths')
  const bodies = new BodyMemory(config)
  bodies.describe(metrics)
  const overload = new Overload(config)
  overload.describe(metrics)
  const router = new Router({ maxParamLength: config.headerLimit, notFound })
  const monitoring = monitoringHandlers(store, responder, state, metrics, shards)
  const handlers: Handlers = {
    ...plantHandlers(store, responder, admission, config.nestingLimit),
    ...plantListHandlers(store, responder, admission),
    ...importHandlers(store, responder, admission, config, stopping.signal),
    ...exportHandlers(store, responder, admission, config),
    ...tagHandlers(store, responder, admission),
    ...idHandlers(store, responder, admission, config.nestingLimit),
    ...tokenHandlers(store, responder, admission, config),
    ...monitoring,
    ...(config.metricsPort === undefined ? {} : { getMetrics: refuseMetrics }),
    ...docsHandlers(contract, responder, config.page),
    ...pageHandlers(responder, config.page),
  }
  addRoutes(router, contract, handlers, {
    authorize: authorizeOperations(config, auth, responder),
    confirm: (identity) => auth.confirm(identity),
    responder,
    cors,
    bodies,
    overload,
  })
  const ports = { config, addresses, responder, state }
  const maxConnections = Math.min(config.maxConnections, descriptorsForConnections(config.descriptorReserve))
  const clients = new Port({ ...ports, limits: { ...config, maxConnections }, router, deferred })
  clients.connections.describe(metrics)
  const { metricsPort } = config
  const monitors = metricsPort && monitoringPort(contract, monitoring, bodies, metricsPort, ports)
  return {
    server: clients.server,
    monitors,
    listen: (options) => clients.listen(options),
    async close() {
      stopping.abort(shuttingDown())
      await Promise.all([clients.close(), monitors?.close()])
      overload.close()
    },
  }
}

const refuseMetrics = (): never => {
  throw new AppError(40401, 'the metrics have a port of their own; ask the operator for it')
}
