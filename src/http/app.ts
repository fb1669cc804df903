import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Store } from '../store.ts'
import { Auth, type Identity, requireScopes } from './auth.ts'
import { addBodyParser } from './body.ts'
import { type Operation, readContract } from './contract.ts'
import { docsHandlers } from './docs.ts'
import { Exit } from './exit.ts'
import { healthHandlers } from './health.ts'
import { Metrics } from './metrics.ts'
import type { Phase } from './phase.ts'
import { plantHandlers } from './plants.ts'
import { RateLimiter } from './rate-limit.ts'
import { addRoutes, type Guard, routeRefusals } from './routes.ts'
import { answerSocketErrors } from './socket-errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** `performance.now()` when its headers had arrived. */
    startedAt: number
    /** `none` where no operation was found. */
    operationId: string
    identity: Identity | undefined
    rateLimitHeaders: string[] | undefined
  }
}

export interface AppOptions {
  readonly config: Config
  readonly store: Store
  readonly log: Logger
  readonly phase: Phase
  /** Creates that wait for their commit now, for the metrics. */
  readonly waiting: () => number
}

/** Builds the HTTP side of the service from its contract. It does not listen. */
export function buildApp({ config, store, log, phase, waiting }: AppOptions): FastifyInstance {
  const contract = readContract()
  const metrics = new Metrics(waiting)
  const exit = new Exit(log, metrics, phase)
  const app = fastify({
    loggerInstance: log.child({}, { level: log.isLevelEnabled('warn') ? 'warn' : log.level }),
    // One child logger per request would cost a create 5% of its throughput.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: requestIds(),
    serverFactory: (handler) => httpServer(config, handler),
    frameworkErrors: (error, _request, reply) => exit.refuse(reply as FastifyReply, refusalOf(error)),
    return503OnClosing: false,
    routerOptions: { maxParamLength: config.headerLimit },
  }) as unknown as FastifyInstance

  app.decorateRequest('startedAt', 0)
  app.decorateRequest('operationId', 'none')
  app.decorateRequest('identity', undefined)
  app.decorateRequest('rateLimitHeaders', undefined)
  app.removeAllContentTypeParsers()
  for (const mediaType of new Set(contract.operations.flatMap((operation) => operation.mediaTypes))) {
    addBodyParser(app, mediaType, config.bodyLimit)
  }

  const refusalOfRoute = routeRefusals(contract)
  app.addHook('onRequest', (request, reply, done) => {
    request.startedAt = performance.now()
    if (phase.current === 'closing') return exit.refuse(reply, new AppError(50303, 'the service is shutting down'))
    if (request.headers.host === undefined && request.raw.httpVersionMinor === 1) {
      return exit.refuse(reply, new AppError(40004, 'the Host header is missing'))
    }
    if (request.is404) return exit.refuse(reply, refusalOfRoute(request.method, request.url))
    done()
  })
  app.setErrorHandler((error: FastifyError, request, reply) =>
    exit.refuse(reply, refusalOf(error, request, contract.operations)),
  )

  addRoutes(
    app,
    contract,
    {
      ...plantHandlers(store, exit, config.nestingLimit),
      ...healthHandlers(store, exit, phase),
      ...docsHandlers(contract, exit),
      getMetrics(_request, reply) {
        metrics.registry.metrics().then(
          (text) => exit.answer(reply, 200, ['Content-Type', metrics.registry.contentType], text),
          (error: unknown) => exit.refuse(reply, error),
        )
      },
    },
    guard(config, store, log, exit),
  )
  return app
}

/** Refuses a request before its body is read: token, scopes, rate. */
function guard(config: Config, store: Store, log: Logger, exit: Exit): Guard {
  const auth = new Auth({
    store,
    configuredToken: config.token,
    failureLimit: config.authFailureLimit,
    onTouchFailure: (error) => log.warn({ err: error }, 'the last use of a token could not be noted'),
  })
  const limiter = config.rateLimit === undefined ? undefined : new RateLimiter(config.rateLimit)

  return ({ id, scopes }) =>
    (request, reply, done) => {
      request.operationId = id
      if (scopes === undefined) return done()
      const admit = (identity: Identity) => {
        request.identity = identity
        request.rateLimitHeaders = limiter?.take(identity.tokenId)
        requireScopes(identity, scopes)
      }
      try {
        const identity = auth.identify(request.headers.authorization, request.socket.remoteAddress ?? '')
        if (!(identity instanceof Promise)) {
          admit(identity)
          return done()
        }
        identity.then(admit).then(done, (error: unknown) => exit.refuse(reply, error))
      } catch (error) {
        exit.refuse(reply, error)
      }
    }
}

function httpServer(config: Config, handler: Parameters<typeof createServer>[1]): Server {
  const server = createServer({
    headersTimeout: config.headersTimeout,
    requestTimeout: config.requestTimeout,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: config.keepAliveTimeout,
    maxHeaderSize: config.headerLimit,
    // Both would be answered, or dropped, by Node without our body.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  })
  server.on('request', handler as never)
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  answerSocketErrors(server)
  return server
}

function requestIds(): () => string {
  const prefix = randomBytes(4).toString('hex')
  let count = 0
  return () => `${prefix}-${(count++).toString(36)}`
}

/** What the framework found wrong, in the catalog's terms; by its code, never by its text. */
function refusalOf(error: unknown, request?: FastifyRequest, operations: readonly Operation[] = []): unknown {
  if (error instanceof AppError) {
    return error.number === 41501 ? withAcceptPost(error, request, operations) : error
  }
  switch ((error as Partial<FastifyError>).code) {
    case 'FST_ERR_BAD_URL':
      return new AppError(40003, 'the path is not valid percent-encoded UTF-8')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return withAcceptPost(new AppError(41501, 'the body has a media type that is not supported'), request, operations)
    default:
      return error
  }
}

function withAcceptPost(
  { message }: AppError,
  request: FastifyRequest | undefined,
  operations: readonly Operation[],
): AppError {
  const types = operations.find(({ id }) => id === request?.operationId)?.mediaTypes ?? []
  return new AppError(41501, `${message}; send ${types.join(' or ')}`, { headers: { 'Accept-Post': types.join(', ') } })
}
