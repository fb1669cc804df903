import type { Config } from '../../settings/config.ts'
import type { Exchange } from '../exchange.ts'
import type { Operation } from '../operations.ts'
import type { Responder } from '../response/responder.ts'
import type { Route } from '../router.ts'
import { type Auth, type Identity, requireScopes } from './bearer.ts'
import { RateLimiter } from './rate-limit.ts'

/** Returns a route that checks the token of a request before `next` reads the body. */
export type Authorize = (operation: Operation, next: Route) => Route

/** Refuses a request whose token is not valid, lacks a scope or exceeds its rate. */
export function authorizeOperations(config: Config, auth: Auth, responder: Responder): Authorize {
  const limiter = config.rateLimit === undefined ? undefined : new RateLimiter(config.rateLimit)

  return ({ scopes }, next) => {
    if (scopes === undefined) return next
    const admit = (exchange: Exchange, identity: Identity) => {
      exchange.identity = identity
      exchange.rateLimitHeaders = limiter?.take(identity.actor.id)
      requireScopes(identity, scopes)
      next(exchange)
    }
    return (exchange) => {
      const identity = auth.identify(exchange.request, exchange.startedAt)
      if (!(identity instanceof Promise)) return admit(exchange, identity)
      identity.then((known) => admit(exchange, known)).catch((error: unknown) => responder.refuse(exchange, error))
    }
  }
}
