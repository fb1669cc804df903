import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import { type Auth, type Identity, requireScopes } from './auth.ts'
import type { Operation } from './contract.ts'
import type { Exit } from './exit.ts'
import { RateLimiter } from './rate-limit.ts'

/** Runs before a body is read; lets the request through by calling `done`. */
export type Guard = (operation: Operation) => (request: FastifyRequest, reply: FastifyReply, done: () => void) => void

/** Refuses a request by its token, its scopes or its rate. */
export function guardOperations(config: Config, auth: Auth, exit: Exit): Guard {
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
        const { headers, socket, startedAt } = request
        const identity = auth.identify(headers.authorization, socket.remoteAddress ?? '', startedAt)
        if (identity instanceof Promise) {
          identity.then(admit).then(done, (error: unknown) => exit.refuse(reply, error))
        } else {
          admit(identity)
          done()
        }
      } catch (error) {
        exit.refuse(reply, error)
      }
    }
}
