import { once } from 'node:events'
import type { Server } from 'node:http'
import type { ListenOptions } from 'node:net'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { type AuditLog, NO_AUDIT } from '../audit.ts'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Store } from '../store.ts'
import type { StorePool } from '../store-pool.ts'
import type { BackupsMade } from '../upkeep.ts'
import { Admission } from './admission/admission.ts'
import { observeAdmission } from './admission/admission-metrics.ts'
import { authorizeOperations } from './auth/authorize.ts'
import { Auth } from './auth/bearer.ts'
import { ClientAddresses } from './auth/client-address.ts'
import { TokenWatch } from './auth/token-watch.ts'
import { observeBackups } from './backup-metrics.ts'
import { Connections } from './connection/connections.ts'
import { descriptorsForConnections } from './connection/descriptors.ts'
import { httpServer } from './connection/server.ts'
import { Metrics } from './metrics.ts'
import { answerNotFound } from './not-found.ts'
import type { Contract } from './operations.ts'
import { observePool } from './pool-metrics.ts'
import { BodyMemory } from './request/body-memory.ts'
import { faultOfHead } from './request/head.ts'
import { docsHandlers } from './resources/docs.ts'
import { exportHandlers } from './resources/export.ts'
import { idHandlers } from './resources/ids.ts'
import { importHandlers } from './resources/import.ts'
import { monitoringHandlers, type ShardState } from './resources/monitoring.ts'
import { pageHandlers } from './resources/page.ts'
import { plantListHandlers } from './resources/plant-list.ts'
import { checkPlantSchemas } from './resources/plant-schemas.ts'
import { plantHandlers } from './resources/plants.ts'
import { tagHandlers } from './resources/tags.ts'
import { tokenHandlers } from './resources/tokens.ts'
import { Cors } from './response/cors.ts'
import { Responder } from './response/responder.ts'
import { Router } from './router.ts'
import { addRoutes } from './routes.ts'
import { observeFacts, type ServiceFacts } from './service-facts.ts'
import type { ServiceState } from './service-state.ts'

export interface AppOptions {
  readonly config: Config
  readonly contract: Contract
  readonly store: Store
  readonly log: Logger
  /** Where each change is noted; nowhere if it is left out. */
  readonly audit?: AuditLog
  readonly state: ServiceState
  /** Returns the creates that wait for their commit, for the metrics. */
  readonly waiting: () => number
  /** Returns the log lines dropped so far, for the metrics. */
  readonly droppedLogLines?: () => number
  /** Returns the lines of the audit log dropped so far, for the metrics. */
  readonly droppedAuditLines?: () => number
  /** Returns the changes that the search index does not have yet; undefined where each write updates it. */
  readonly indexBehind?: () => number | undefined
  /** The pool of the store; undefined for an engine without one. */
  readonly pool?: StorePool | undefined
  /** The state of scheduled backups; undefined without them. */
  readonly backups?: BackupsMade | undefined
  /** Facts about the program and its store, for the metrics. */
  readonly facts?: ServiceFacts | undefined
  /** Returns the reachable part of a sharded store; undefined while it is not sharded. */
  readonly shards?: (() => ShardState | undefined) | undefined
}

/** The HTTP side of the service. */
export interface App {
  readonly server: Server
  listen(options: ListenOptions): Promise<void>
  /** Ends listening and imports, and waits for the answers under way. */
  close(): Promise<void>
}

/** Builds the HTTP side of the service from its contract. It does not listen. */
export function buildApp(options: AppOptions): App {
  const { config, contract, store, log, state, waiting, droppedLogLines, indexBehind, pool, backups, facts, shards } =
    options
  const { audit = NO_AUDIT, droppedAuditLines } = options
  checkPlantSchemas(contract.document)
  const metrics = new Metrics(waiting)
  if (indexBehind?.() !== undefined) {
    metrics.gauge('plantstore_search_index_behind', 'Changes that the search index lacks.', () => indexBehind() ?? 0)
  }
  if (backups !== undefined) observeBackups(metrics, backups)
  if (facts !== undefined) observeFacts(metrics, facts)
  if (shards !== undefined) {
    metrics.gauge('plantstore_shards', 'Shards of the store; 0 if it is not sharded.', () => shards()?.shards ?? 0)
    const read = () => shards()?.outOfReach ?? 0
    metrics.gauge('plantstore_shards_out_of_reach', 'Shards that do not take requests.', read)
  }
  if (droppedLogLines !== undefined) {
    const help = 'Log lines dropped because their reader was too slow.'
    metrics.counter('plantstore_log_lines_dropped_total', help, droppedLogLines)
  }
  if (droppedAuditLines !== undefined) {
    const help = 'Lines of the audit log dropped because they could not be written in time.'
    metrics.counter('plantstore_audit_lines_dropped_total', help, droppedAuditLines)
  }
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
  if (pool !== undefined) observePool(metrics.registry, pool)
  const admission = new Admission(config, new TokenWatch(auth), pool?.maxLongWork)
  observeAdmission(metrics.registry, admission)
  const stopping = new AbortController()
  const notFound = answerNotFound(contract.operations, responder)
  const bodies = new BodyMemory(config)
  bodies.describe(metrics)
  const router = new Router({ maxParamLength: config.headerLimit, notFound })
  addRoutes(
    router,
    contract,
    {
      ...plantHandlers(store, responder, admission, config.nestingLimit),
      ...plantListHandlers(store, responder, admission),
      ...importHandlers(store, responder, admission, config, stopping.signal),
      ...exportHandlers(store, responder, admission, config),
      ...tagHandlers(store, responder, admission),
      ...idHandlers(store, responder, admission, config.nestingLimit),
      ...tokenHandlers(store, responder, admission, config),
      ...monitoringHandlers(store, responder, state, metrics, shards),
      ...docsHandlers(contract, responder, config.docs),
      ...pageHandlers(responder, config),
    },
    {
      authorize: authorizeOperations(config, auth, responder),
      confirm: (identity) => auth.confirm(identity),
      responder,
      cors,
      bodies,
    },
  )
  const maxConnections = Math.min(config.maxConnections, descriptorsForConnections(config.descriptorReserve))
  const connections = new Connections({ ...config, maxConnections }, addresses, {
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
  connections.describe(metrics)
  const server = httpServer(config, connections)
  return {
    server,
    async listen(options) {
      await once(server.listen({ backlog: BACKLOG, ...options }), 'listening')
    },
    async close() {
      stopping.abort(shuttingDown())
      const closed = server.listening ? promisify(server.close).call(server) : undefined
      connections.shutDown(shuttingDown())
      await closed
    },
  }
}

/**
 * Connections that the system keeps until they are accepted. It lowers the number to its own limit, on Linux
 * net.core.somaxconn. Beyond that, Linux resets connections of any client. Node's default of 511 is less than a burst.
 */
const BACKLOG = 65_535

const shuttingDown = (): AppError => new AppError(50303, 'the service is shutting down')
