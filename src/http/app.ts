import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { ClientAddresses } from '../base/network.ts'
import { AppError } from '../domain/errors.ts'
import type { Identity, TokenIssuer } from '../domain/token.ts'
import { publicUrlOf } from '../settings/config.ts'
import { Admission } from './admission/admission.ts'
import { DeferredTasks, Overload } from './admission/turns.ts'
import { type AuditLog, NO_AUDIT } from './answer/audit-log.ts'
import { BasePath } from './answer/base-path.ts'
import { Responder, type ServiceState } from './answer/responder.ts'
import { SlowClients } from './answer/slow-clients.ts'
import { Auth, authorizeOperations, TokenWatch } from './auth/bearer.ts'
import { ChangeStreams } from './changes/change-streams.ts'
import type { Metrics } from './metrics/metrics.ts'
import { type ObservedParts, serviceMetrics } from './metrics/service-metrics.ts'
import { monitoringHandlers, monitoringPort } from './monitoring.ts'
import { type CertificatePair, descriptorsForConnections, Port, shuttingDown } from './port/port.ts'
import { Cors } from './refusal.ts'
import type { Contract } from './request/operations.ts'
import { actionHandlers } from './resources/actions.ts'
import { type Agents, addAgents } from './resources/agents.ts'
import { changeHandlers } from './resources/changes.ts'
import { exportHandlers, importHandlers } from './resources/files.ts'
import { plantListHandlers, tagHandlers } from './resources/lists.ts'
import { addWebFiles, docsHandlers, pageHandlers, resourceMetadataHandlers } from './resources/pages.ts'
import { idHandlers, plantHandlers } from './resources/plants.ts'
import { tokenHandlers } from './resources/tokens.ts'
import { webhookHandlers } from './resources/webhooks.ts'
import { addRoutes, answerNotFound, type HandlerParts, type Handlers, type MONITORING, Router } from './router.ts'

export interface AppOptions extends ObservedParts {
  readonly contract: Contract
  readonly log: Logger
  /** The log of all changes; by default none. */
  readonly audit?: AuditLog
  /** Verifies the tokens of the identity provider, where the configuration names one. */
  readonly issuer?: TokenIssuer | undefined
  /** The protocol of agents; undefined where it is switched off. */
  readonly agents?: Agents | undefined
  readonly state: ServiceState
  /** Undefined: clients use HTTP without TLS. */
  readonly pair?: CertificatePair | undefined
}

export interface App {
  readonly clients: Port
  /** The port for monitors; undefined where they use the one for clients. */
  readonly monitors: Port | undefined
  /** Stops listening, ends imports, and waits for the answers under way. */
  close(): Promise<void>
}

/** Builds the HTTP side of the service from its contract. It does not listen. */
export function buildApp(options: AppOptions): App {
  const { config, contract, store, log, audit = NO_AUDIT, state, pair, delivery } = options
  const metrics = serviceMetrics(options)
  const addresses = new ClientAddresses(config.trustedProxies)
  const cors = config.corsOrigins === undefined ? undefined : new Cors(config.corsOrigins)
  const slowClients = new SlowClients(config)
  // A function, because the system may choose the port when the service begins to listen.
  const origin = (): string =>
    publicUrlOf(config, (clients.server.address() as AddressInfo | null)?.port ?? config.port)
  const base = new BasePath(config.publicUrl)
  const metadataUrl = config.oidcIssuer === undefined ? undefined : () => base.metadataUrl(origin())
  const parts = { log, audit, metrics, state, addresses, cors, slowClients, limits: config, metadataUrl, base }
  const responder = new Responder(parts)
  const auth = new Auth({
    tokens: store.tokens,
    config,
    issuer: options.issuer,
    addresses,
    onTouchFailure: (error) => log.warn({ err: error }, 'the last use of a token could not be recorded'),
  })
  const deferred = new DeferredTasks()
  const admission = new Admission(config, new TokenWatch(auth), deferred)
  const stopping = new AbortController()
  const notFound = answerNotFound(contract.operations, responder, '/openapi.json lists all paths')
  const overload = new Overload(config)
  const router = new Router({ maxParamLength: config.headerLimit, notFound, base })
  const monitoring = monitoringHandlers(store, responder, state, metrics)
  const streams = store.changes && new ChangeStreams(store.changes, state, stopping.signal)
  streams?.describe(metrics)
  const { signal } = stopping
  const handling = { ...options, responder, admission, slowClients, streams, delivery, stopping: signal, origin, base }
  const handlers: Handlers = {
    ...clientHandlers(handling),
    ...monitoring,
    ...(config.metricsPort === undefined ? {} : { getMetrics: refuseMetrics }),
  }
  const routing = {
    authorize: authorizeOperations(config, auth, responder),
    confirm: (identity: Identity) => auth.confirm(identity),
    responder,
    cors,
    overload,
  }
  addRoutes(router, contract, handlers, routing)
  addWebFiles(router, handling, routing)
  if (options.agents !== undefined) addAgents(router, options.agents, handling, routing)
  const ports = { config, addresses, responder, state }
  const maxConnections = Math.min(config.maxConnections, descriptorsForConnections(config.descriptorReserve))
  const clients = new Port({ ...ports, config: { ...config, maxConnections }, router, deferred, certificate: pair })
  observeBounds(metrics, clients, overload, handling)
  const { metricsPort } = config
  const monitors = metricsPort && monitoringPort(contract, monitoring, metricsPort, ports)
  return {
    clients,
    monitors,
    async close() {
      stopping.abort(shuttingDown())
      await Promise.all([clients.close(), monitors?.close()])
      overload.close()
    },
  }
}

const clientHandlers = (parts: HandlerParts): Omit<Handlers, (typeof MONITORING)[number]> => ({
  ...plantHandlers(parts),
  ...plantListHandlers(parts),
  ...importHandlers(parts),
  ...exportHandlers(parts),
  ...changeHandlers(parts),
  ...tagHandlers(parts),
  ...idHandlers(parts),
  ...tokenHandlers(parts),
  ...webhookHandlers(parts),
  ...resourceMetadataHandlers(parts),
  ...docsHandlers(parts),
  ...actionHandlers(parts),
  ...pageHandlers(parts),
})

/** Registers the metrics of what the HTTP side bounds and refuses. */
function observeBounds(metrics: Metrics, clients: Port, overload: Overload, parts: HandlerParts): void {
  const { slowClients, responder, admission } = parts
  metrics.series('plantstore_shed_total', () =>
    Object.entries(overload.refused).map(([reason, count]) => [{ reason }, count] as const),
  )
  metrics.bounds(() => ({
    maxConnections: clients.connections.open,
    pipelineLimit: clients.connections.pipelined,
    unreadLimit: slowClients.unread,
    compressionLimit: responder.compressor.bound,
    maxMemory: overload.memory,
    heap: overload.heap,
    ...admission.bounds,
  }))
}

const refuseMetrics = (): never => {
  throw new AppError(40401, 'the metrics have a port of their own; ask the operator for it')
}
