import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../../domain/errors.ts'
import type { Store } from '../../domain/store.ts'
import {
  derivedToken,
  excessOf,
  hashSecret,
  makeSecret,
  makeTokenId,
  type Token,
  type TokenRequest,
} from '../../domain/token.ts'
import type { TokenPosition } from '../../domain/token-store.ts'
import type { Config } from '../../settings/config.ts'
import type { Admission } from '../admission/admission.ts'
import type { Change } from '../audit-trail.ts'
import { type Identity, revokedToken, secretOf, tooStrong } from '../auth/bearer.ts'
import type { Exchange } from '../exchange.ts'
import { keyIn } from '../request/parameters.ts'
import { JSON_TYPE, READ_CACHING, type Responder } from '../response/responder.ts'
import type { Handlers } from '../routes.ts'
import { answerPage, readCursor, writeCursor, writePage } from './pagination.ts'
import { parseTokenRequest } from './token-body.ts'

type TokenHandlers = Pick<Handlers, 'createToken' | 'listTokens' | 'getOwnToken' | 'revokeToken'>
type TokenConfig = Pick<Config, 'nestingLimit' | 'maxTokens' | 'maxEndedTokens' | 'token'>

const LIST = '["tokens"]'

/** The handlers of the operations on access tokens. */
export function tokenHandlers(
  { tokens }: Store,
  responder: Responder,
  admission: Admission,
  config: TokenConfig,
): TokenHandlers {
  const refuse = (exchange: Exchange) => (error: unknown) => responder.refuse(exchange, error)

  async function issue(
    identity: Identity,
    request: TokenRequest,
    { id, secret }: TokenKeys,
    change: Change,
  ): Promise<Token> {
    const wanted = { ...request, id, createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
    const creator = identity.hash === undefined ? undefined : identity.actor.id
    const bounds = { creator, max: config.maxTokens, maxEnded: config.maxEndedTokens }
    const token = await tokens.issueToken(wanted, hashSecret(secret), bounds)
    if (token === 'creator revoked') throw revokedToken()
    if (token === 'too many') {
      throw new AppError(40904, `there are ${config.maxTokens} active tokens already; revoke one first`)
    }
    if (!isSame(token, wanted)) {
      throw new AppError(40902, 'the Idempotency-Key belongs to a token with another content, or to a revoked one')
    }
    change.outcome = token.createdAt.getTime() === wanted.createdAt.getTime() ? 'created' : 'unchanged'
    return token
  }

  return {
    createToken(exchange, parameters, body) {
      const identity = identityOf(exchange)
      const request = within(parseTokenRequest(body, config.nestingLimit), identity)
      const key = keyIn(parameters)
      const keys =
        key === undefined ? { id: makeTokenId(), secret: makeSecret() } : derivedToken(secretOf(exchange.request), key)
      const { name, scopes, expiresAt } = request
      const change: Change = { details: () => ({ created: keys.id, createdName: name, scopes, expiresAt }) }
      exchange.change = change
      admission
        .during('change', exchange, () => issue(identity, request, keys, change))
        .then((token) => {
          const headers = ['Content-Type', JSON_TYPE, 'Location', `/tokens/${token.id}`, 'Cache-Control', 'no-store']
          responder.reply(exchange, 201, headers, createdJson(token, keys.secret))
        })
        .catch(refuse(exchange))
    },

    listTokens(exchange, { limit, cursor }) {
      const after = cursor === undefined ? undefined : readPosition(cursor)
      // Each page has a turn of its own, because 1,000 tokens take a few milliseconds.
      const read = () => nextTurn().then(() => tokens.listTokens({ after, limit: limit + 1 }))
      admission
        .during('search', exchange, read)
        .then((found) => {
          const page = writePage('/tokens', found, limit, tokenJson, (last) => [
            ['limit', String(limit)],
            ['cursor', writePosition(last)],
          ])
          answerPage(responder, exchange, page)
        })
        .catch(refuse(exchange))
    },

    getOwnToken(exchange) {
      const { actor, scopes, expiresAt } = identityOf(exchange)
      const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', READ_CACHING]
      responder.reply(exchange, 200, headers, JSON.stringify({ ...actor, scopes, expiresAt: timeOrNever(expiresAt) }))
    },

    revokeToken(exchange, { id }) {
      // The audit log names no unknown id, which may be a misplaced secret.
      let known: string | undefined
      const change: Change = { details: () => ({ revoked: known }) }
      exchange.change = change
      admission
        .during('change', exchange, () => tokens.revokeToken(id, config.token === undefined))
        .then((result) => {
          if (result !== 'absent') known = id
          if (result === 'absent') throw new AppError(40402, `there is no token with the id ${id}`)
          if (result === 'last') throw new AppError(40903, LAST_TOKEN)
          change.outcome = result === 'revoked' ? 'revoked' : 'unchanged'
          responder.reply(exchange, 204, [])
        })
        .catch(refuse(exchange))
    },
  }
}

/** The id and the secret of a token. */
interface TokenKeys {
  readonly id: string
  readonly secret: string
}

const LAST_TOKEN =
  'this is the last active token with the scope tokens; create another one first, or use "plantstore token revoke"'

function identityOf({ identity }: Exchange): Identity {
  if (identity === undefined) throw new Error('an operation on tokens needs a token')
  return identity
}

/**
 * Gives the request the creator's expiry where it names none.
 *
 * @throws AppError 40302 when the new token would have more rights than its creator
 */
function within(request: TokenRequest, creator: Identity): TokenRequest {
  const { expiresAt } = creator
  const excess = excessOf(request, creator)
  if (excess === 'scopes') {
    const message = `a token can create only tokens with its own scopes, which are ${creator.scopes.join(', ')}`
    throw tooStrong(message, request.scopes)
  }
  if (excess === 'expiry') {
    const time = new Date(expiresAt).toISOString()
    throw tooStrong(`expiresAt must be no later than ${time}, when the token of this request expires`, request.scopes)
  }
  return { ...request, expiresAt: request.expiresAt ?? timeOrNever(expiresAt) }
}

const timeOrNever = (time: number): Date | undefined => (Number.isFinite(time) ? new Date(time) : undefined)

/** Whether the token in the store is active and has the wanted content. */
const isSame = (token: Token, wanted: Token): boolean =>
  token.revokedAt === undefined &&
  token.name === wanted.name &&
  token.scopes.join() === wanted.scopes.join() &&
  token.expiresAt?.getTime() === wanted.expiresAt?.getTime()

/** JSON.stringify leaves out undefined members, and writes times by toISOString. */
const tokenJson = ({ id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt }: Token): string =>
  JSON.stringify({ id, name, scopes, createdAt, expiresAt, lastUsedAt, revokedAt })

const createdJson = ({ id, name, scopes, createdAt, expiresAt }: Token, secret: string): string =>
  JSON.stringify({ id, name, scopes, createdAt, expiresAt, secret })

function writePosition({ createdAt, id }: TokenPosition): string {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(id))
  bytes.writeBigInt64BE(BigInt(createdAt.getTime()))
  bytes.write(id, 8)
  return writeCursor(LIST, bytes)
}

function readPosition(cursor: string): TokenPosition {
  const bytes = readCursor(LIST, cursor, 8)
  return { createdAt: new Date(Number(bytes.readBigInt64BE())), id: bytes.toString('utf8', 8) }
}
