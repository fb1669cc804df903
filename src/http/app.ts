import fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import type { Store } from '../store.ts'
import { Auth, type Identity } from './auth.ts'
import type { Contract } from './contract.ts'
import { docsHandlers } from './docs.ts'
import { Exit } from './exit.ts'
import { exportHandlers } from './export.ts'
import { guardOperations } from './guard.ts'
import { faultOfHead } from './head.ts'
import { healthHandlers } from './health.ts'
import { importHandlers } from './import.ts'
import { Metrics } from './metrics.ts'
import type { Phase } from './phase.ts'
import { plantListHandlers } from './plant-list.ts'
import { plantHandlers } from './plants.ts'
import { addRoutes } from './routes.ts'
import { httpServer } from './server.ts'
import { tagHandlers } from './tags.ts'
import { answerUnrouted } from './unrouted.ts'

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
  readonly contract: Contract
  readonly store: Store
  readonly log: Logger
  readonly phase: Phase
  /** Creates that wait for their commit now, for the metrics. */
  readonly waiting: () => number
}

/** Builds the HTTP side of the service from its contract. It does not listen. */
export function buildApp({ config, contract, store, log, phase, waiting }: AppOptions): FastifyInstance {
  const metrics = new Metrics(waiting)
  const exit = new Exit(log, metrics, phase)
  const auth = new Auth({
    store,
    configuredToken: config.token,
    failureLimit: config.authFailureLimit,
    onTouchFailure: (error) => log.warn({ err: error }, 'the last use of a token could not be noted'),
  })
  const app = fastify({
    // Its loggers and response listeners would cost a create 12% of its throughput; what is to be logged, Exit logs.
    logger: false,
    // Exit names a request once it has something to tell of it, which is rare.
    genReqId: () => '',
    serverFactory: (handler) => httpServer(config, handler, (refusal, address) => exit.note(refusal, address)),
    // socket-errors.ts does this; the framework's own would reset the connection beneath the answer.
    clientErrorHandler: () => {},
    frameworkErrors: (error, request, reply) => {
      // The framework has run no hook and set no decoration on such a request.
      Object.assign(request, { startedAt: performance.now(), operationId: 'none' })
      exit.refuse(reply as FastifyReply, refusalOf(error))
    },
    return503OnClosing: false,
    routerOptions: { maxParamLength: config.headerLimit },
  }) as unknown as FastifyInstance

  app.decorateRequest('startedAt', 0)
  app.decorateRequest('operationId', 'none')
  app.decorateRequest('identity', undefined)
  app.decorateRequest('rateLimitHeaders', undefined)
  // The framework reads no body: addRoutes does, without the async scope and closures that it makes for each.
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  }

  const unrouted = answerUnrouted(contract, exit)
  app.addHook('onRequest', (request, reply, done) => {
    request.startedAt = performance.now()
    if (phase.current === 'closing') return exit.refuse(reply, new AppError(50303, 'the service is shutting down'))
    const fault = faultOfHead(request.raw)
    if (fault !== undefined) return exit.refuse(reply, new AppError(40004, fault))
    if (request.is404) return unrouted(request, reply)
    done()
  })
  const stopping = new AbortController()
  app.addHook('preClose', async () => stopping.abort(new AppError(50303, 'the service is shutting down')))
  app.setErrorHandler((error, _request, reply) => exit.refuse(reply, error))

  addRoutes(
    app,
    contract,
    {
      ...plantHandlers(store, exit, config.nestingLimit),
      ...plantListHandlers(store, exit),
      ...importHandlers(store, exit, contract, config, stopping.signal),
      ...exportHandlers(store, exit, config.stallTimeout),
      ...tagHandlers(store, exit),
      ...healthHandlers(store, exit, phase),
      ...docsHandlers(contract, exit),
      getMetrics(_request, reply) {
        metrics.registry.metrics().then(
          (text) => exit.answer(reply, 200, ['Content-Type', metrics.registry.contentType], text),
          (error: unknown) => exit.refuse(reply, error),
        )
      },
    },
    { guard: guardOperations(config, auth, exit), exit, unrouted, bodyLimit: config.bodyLimit },
  )
  return app
}

/** What the framework found wrong, in the catalog's terms; by its code, never by its text. */
function refusalOf(error: unknown): unknown {
  if ((error as Partial<FastifyError>).code !== 'FST_ERR_BAD_URL') return error
  return new AppError(40003, 'the path is not valid percent-encoded UTF-8')
}
