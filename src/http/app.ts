import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo, ListenOptions } from 'node:net'
import type { Logger } from 'pino'
import { ClientAddresses } from '../base/network.ts'
import { AppError } from '../domain/errors.ts'
import type { TokenIssuer } from '../domain/token.ts'
import { publicUrlOf } from '../settings/config.ts'
import { Admission } from './admission/admission.ts'
import { DeferredTasks, Overload } from './admission/turns.ts'
import { type AuditLog, NO_AUDIT } from './answer/records.ts'
import { Responder, type ServiceState } from './answer/responder.ts'
import { SlowClients } from './answer/slow-clients.ts'
import { Auth, authorizeOperations, TokenWatch } from './auth/bearer.ts'
import { ChangeStreams } from './changes/change-streams.ts'
import { type ObservedParts, serviceMetrics } from './metrics/service-metrics.ts'
import { monitoringHandlers, monitoringPort } from './monitoring.ts'
import { type CertificatePair, descriptorsForConnections, Port, shuttingDown } from './port/port.ts'
import { Cors } from './refusal.ts'
import type { Contract } from './request/operations.ts'
import { changeHandlers } from './resources/changes.ts'
import { exportHandlers, importHandlers } from './resources/files.ts'
import { plantListHandlers, tagHandlers } from './resources/lists.ts'
import { docsHandlers, METADATA_PATH, pageHandlers, resourceMetadataHandlers } from './resources/pages.ts'
import { idHandlers, plantHandlers } from './resources/plants.ts'
import { tokenHandlers } from './resources/tokens.ts'
import { webhookHandlers } from './resources/webhooks.ts'
import { addRoutes, answerNotFound, type Handlers, Router } from './router.ts'

export interface AppOptions extends ObservedParts {
  readonly contract: Contract
  readonly log: Logger
  /** The log of all changes; by default none. */
  readonly audit?: AuditLog
  /** Verifies the tokens of the identity provider, where the configuration names one. */
  readonly issuer?: TokenIssuer | undefined
  readonly state: ServiceState
  /** Undefined: clients use HTTP without TLS. */
  readonly pair?: CertificatePair | undefined
}

/** The HTTP side of the service. */
export interface App {
  readonly server: Server | SecureServer
  /** The port for monitors; undefined where they use the one for clients. */
  readonly monitors: Port | undefined
  listen(options: ListenOptions): Promise<void>
  /** Serves new connections with another certificate. */
  useCertificate(pair: CertificatePair): void
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
  const metadataUrl = config.oidcIssuer === undefined ? undefined : () => origin() + METADATA_PATH
  const parts = { log, audit, metrics, state, addresses, cors, slowClients, limits: config, metadataUrl }
  const responder = new Responder(parts)
  const auth = new Auth({
    tokens: store.tokens,
    configuredToken: config.token,
    issuer: options.issuer,
    failureLimit: config.authFailureLimit,
    addresses,
    onTouchFailure: (error) => log.warn({ err: error }, 'the last use of a token could not be recorded'),
  })
  const deferred = new DeferredTasks()
  const admission = new Admission(config, {
    tokens: new TokenWatch(auth),
    deferred,
    maxLongWork: store.pool?.maxLongWork,
  })
  const stopping = new AbortController()
  const notFound = answerNotFound(contract.operations, responder, '/openapi.json lists all paths')
  const overload = new Overload(config)
  const router = new Router({ maxParamLength: config.headerLimit, notFound })
  const monitoring = monitoringHandlers(store, responder, state, metrics)
  const streams = store.changes && new ChangeStreams(store.changes, state, stopping.signal)
  streams?.describe(metrics)
  const { signal } = stopping
  const handling = { ...options, responder, admission, slowClients, streams, delivery, stopping: signal, origin }
  const handlers: Handlers = {
    ...plantHandlers(handling),
    ...plantListHandlers(handling),
    ...importHandlers(handling),
    ...exportHandlers(handling),
    ...changeHandlers(handling),
    ...tagHandlers(handling),
    ...idHandlers(handling),
    ...tokenHandlers(handling),
    ...webhookHandlers(handling),
    ...resourceMetadataHandlers(handling),
    ...docsHandlers(handling),
    ...pageHandlers(handling),
    ...monitoring,
    ...(config.metricsPort === undefined ? {} : { getMetrics: refuseMetrics }),
  }
  addRoutes(router, contract, handlers, {
    authorize: authorizeOperations(config, auth, responder),
    confirm: (identity) => auth.confirm(identity),
    responder,
    cors,
    overload,
  })
  const ports = { config, addresses, responder, state }
  const maxConnections = Math.min(config.maxConnections, descriptorsForConnections(config.descriptorReserve))
  const clients = new Port({ ...ports, limits: { ...config, maxConnections }, router, deferred, certificate: pair })
  metrics.series('plantstore_shed_total', () =>
    Object.entries(overload.refused).map(([reason, count]) => [{ reason }, count] as const),
  )
  metrics.bounds({
    maxConnections: () => clients.connections.open,
    pipelineLimit: () => clients.connections.pipelined,
    unreadLimit: () => slowClients.unread,
    compressionLimit: () => responder.compressor.bound,
    maxMemory: () => overload.memory,
    heap: () => overload.heap,
  })
  for (const [name, bound] of Object.entries(admission.bounds)) metrics.bounds({ [name]: () => bound })
  const { metricsPort } = config
  const monitors = metricsPort && monitoringPort(contract, monitoring, metricsPort, ports)
  return {
    server: clients.server,
    monitors,
    listen: (options) => clients.listen(options),
    useCertificate: (next) => clients.useCertificate(next),
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
