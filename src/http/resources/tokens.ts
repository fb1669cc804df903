import { historyOf } from '../../domain/changes.ts'
import { AppError } from '../../domain/errors.ts'
import type { Part } from '../../domain/part.ts'
import {
  DEFAULT_OVERLAP,
  derivedToken,
  excessOf,
  hashSecret,
  type Identity,
  LAST_TIME,
  MAX_OVERLAP,
  makeSecret,
  makeTokenId,
  PART_RULE,
  partIn,
  type Rotation,
  SCOPES,
  type Scope,
  scopesIn,
  type Token,
  type TokenPosition,
  type TokenRequest,
  timeIn,
} from '../../domain/token.ts'
import { jsonHeaders, READ_CACHING } from '../answer/responder.ts'
import { expiredToken, revokedToken, secretOf, tooStrong } from '../auth/bearer.ts'
import {
  type AuditedChange,
  type Exchange,
  integerFrom,
  type Readers,
  readName,
  readSmallBody,
  wrong,
} from '../request/exchange.ts'
import { keyIn } from '../request/head.ts'
import type { OperationBodies } from '../request/operations.generated.ts'
import type { HandlerParts, Handlers } from '../router.ts'
import { answerPage, readPlace, writePage, writePlace } from './lists.ts'

type TokenHandlers = Pick<Handlers, 'createToken' | 'listTokens' | 'getOwnToken' | 'rotateToken' | 'revokeToken'>

const LIST = '["tokens"]'

export function tokenHandlers(parts: HandlerParts): TokenHandlers {
  const { responder, admission, config } = parts
  const { tokens, changes } = parts.store
  let history: string | undefined

  return {
    createToken(exchange, parameters, body) {
      const request = within(parseTokenRequest(body), exchange.sender)
      return issue(parts, exchange, request, keyIn(parameters))
    },

    rotateToken(exchange, parameters, body) {
      const { actor, scopes, expiresAt } = exchange.sender
      const until = Date.now() + parseOverlap(body)
      if (expiresAt <= Date.now()) throw expiredToken()
      const { id } = parameters
      const key = keyIn(parameters)
      // No client can send a line feed, so no other request has this key.
      const ownKey = key === undefined ? undefined : `rotate\n${id}\n${key}`
      const replaced = { name: id, scopes: [], expiresAt: undefined }
      return issue(parts, exchange, replaced, ownKey, { id, until, scopes, part: actor.part, expiresAt })
    },

    async listTokens(exchange, { limit, cursor }) {
      const after = cursor === undefined ? undefined : readPosition(cursor)
      const page = await admission.during('search', exchange, async () => {
        const found = await tokens.listTokens({ after, limit: limit + 1 })
        return writePage('/tokens', found, { limit }, tokenJson, writePosition)
      })
      answerPage(responder, exchange, page)
    },

    async getOwnToken(exchange) {
      const { actor, scopes, expiresAt } = exchange.sender
      // No store gets another history while a service has it open.
      history ??= changes && historyOf(await changes.end())
      const own = { ...actor, scopes, expiresAt: timeOrNever(expiresAt), store: history }
      responder.reply(exchange, 200, jsonHeaders(READ_CACHING), JSON.stringify(own))
    },

    async revokeToken(exchange, { id }) {
      // The audit log names no unknown id, which may be a misplaced secret.
      let known: string | undefined
      const change: AuditedChange = { details: () => ({ revoked: known }) }
      exchange.change = change
      const revoke = () => tokens.revokeToken(id, config.token === undefined, exchange.sender.actor.part)
      const result = await admission.during('change', exchange, revoke)
      if (result === 'absent') throw new AppError(40402, `there is no token with the id ${id}`)
      known = id
      if (result === 'too strong') throw tooStrong('a token with a part can revoke only tokens within it', ['tokens'])
      if (result === 'last') throw new AppError(40903, LAST_TOKEN)
      change.outcome = result === 'revoked' ? 'revoked' : 'unchanged'
      responder.reply(exchange, 204, [])
    },
  }
}

/** Issues a token, and answers with its secret. @param rotates the token that it replaces, whose content it gets */
async function issue(
  { store: { tokens }, responder, admission, config }: HandlerParts,
  exchange: Exchange,
  request: TokenRequest,
  key: string | undefined,
  rotates?: Rotation,
): Promise<void> {
  const { hash, actor } = exchange.sender
  const { id, secret } =
    key === undefined ? { id: makeTokenId(), secret: makeSecret() } : derivedToken(secretOf(exchange.request), key)
  // The audit log names no unknown token, whose id may be a misplaced secret.
  let made: (TokenRequest & { id: string }) | undefined = rotates === undefined ? { ...request, id } : undefined
  const details = () => {
    if (made === undefined) return {}
    const { id: created, name: createdName, scopes, part, expiresAt } = made
    return { rotated: rotates?.id, created, createdName, scopes, part, expiresAt }
  }
  const change: AuditedChange = { details }
  exchange.change = change
  const creator = hash === undefined ? undefined : actor.id
  const bounds = { creator, max: config.maxTokens, maxEnded: config.maxEndedTokens, rotates }
  const wanted = { ...request, id, createdAt: new Date(), lastUsedAt: undefined, revokedAt: undefined }
  const token = await admission.during('change', exchange, () => tokens.issueToken(wanted, hashSecret(secret), bounds))
  if (token === 'creator revoked') throw revokedToken()
  if (token === 'too many') {
    throw new AppError(40904, `there are ${config.maxTokens} active tokens already; revoke one first`)
  }
  if (token === 'absent') throw new AppError(40402, `there is no active token with the id ${rotates?.id}`)
  if (token === 'too strong') throw tooStrong(STRONGER, SCOPES)
  if (token === 'other content') {
    throw new AppError(40902, 'the Idempotency-Key belongs to a token with another content, or to a revoked one')
  }
  made = token
  change.outcome = token.createdAt.getTime() === wanted.createdAt.getTime() ? 'created' : 'unchanged'
  const headers = jsonHeaders('no-store', 'Location', `/tokens/${token.id}`)
  responder.reply(exchange, 201, headers, createdJson(token, secret))
}

const STRONGER =
  'a token can rotate only tokens that have no scope beyond its own, are within its part and expire no later'

const LAST_TOKEN =
  'this is the last active token with the scope tokens and without a part; create another one first, or use "plantstore token revoke"'

/**
 * Gives the request the creator's part and expiry where it names none.
 *
 * @throws AppError 40302 when the new token would have more rights than its creator, 40103 when that has expired, which
 *   a JWT may have a moment ago
 */
function within(given: TokenRequest, creator: Identity): TokenRequest {
  const { actor, expiresAt } = creator
  const request = { ...given, part: given.part ?? actor.part }
  if (expiresAt <= Date.now()) throw expiredToken()
  const excess = excessOf(request, creator)
  if (excess === 'scopes') {
    const message = `a token can create only tokens with its own scopes, which are ${creator.scopes.join(', ')}`
    throw tooStrong(message, request.scopes)
  }
  if (excess === 'part') {
    throw tooStrong(
      'a token can create only tokens within its own part, which GET /tokens/self answers',
      request.scopes,
    )
  }
  if (excess === 'expiry') {
    const time = new Date(expiresAt).toISOString()
    throw tooStrong(`expiresAt must be no later than ${time}, when the token of this request expires`, request.scopes)
  }
  return { ...request, expiresAt: request.expiresAt ?? timeOrNever(expiresAt) }
}

const timeOrNever = (time: number): Date | undefined => (Number.isFinite(time) ? new Date(time) : undefined)

/** JSON.stringify leaves out undefined members, and writes times by toISOString. */
const tokenJson = ({ id, name, scopes, part, createdAt, expiresAt, lastUsedAt, revokedAt }: Token): string =>
  JSON.stringify({ id, name, scopes, part, createdAt, expiresAt, lastUsedAt, revokedAt })

const createdJson = ({ id, name, scopes, part, createdAt, expiresAt }: Token, secret: string): string =>
  JSON.stringify({ id, name, scopes, part, createdAt, expiresAt, secret })

const writePosition = ({ createdAt, id }: TokenPosition): string => writePlace(LIST, BigInt(createdAt.getTime()), id)

function readPosition(cursor: string): TokenPosition {
  const [time, id] = readPlace(LIST, cursor)
  return { createdAt: new Date(Number(time)), id }
}

/** Reads the body of createToken. @throws AppError as readSmallBody does */
export const parseTokenRequest = (body: Buffer): TokenRequest => ({
  expiresAt: undefined,
  ...readSmallBody(body, TOKEN, ['name', 'scopes']),
})

function readScopes(value: unknown): readonly Scope[] {
  const texts = Array.isArray(value) ? value.map((each: unknown) => (typeof each === 'string' ? each : '')) : []
  const scopes = scopesIn(texts)
  if (scopes === undefined) throw wrong(`must be an array with some of ${SCOPES.join(', ')}`)
  return scopes
}

function readPart(value: unknown): Part {
  const part = partIn(value)
  if (part === undefined) throw wrong(`must be an array of ${PART_RULE}`)
  return part
}

const NO_TIME = `must be a date and time with a zone, such as 2030-12-31T12:00:00Z, and no later than ${new Date(LAST_TIME).toISOString()}`

function readExpiry(value: unknown): Date {
  const time = typeof value === 'string' ? timeIn(value) : undefined
  if (time === undefined) throw wrong(NO_TIME)
  if (time.getTime() <= Date.now()) throw wrong('must be in the future')
  return time
}

const TOKEN = { name: readName, scopes: readScopes, part: readPart, expiresAt: readExpiry } satisfies Readers<
  OperationBodies['createToken']
>

const OVERLAP = { overlapSeconds: integerFrom(0, MAX_OVERLAP / 1000) } satisfies Readers<OperationBodies['rotateToken']>

/** Reads the body of a rotation, in milliseconds. @throws AppError as readSmallBody does */
export function parseOverlap(body: Buffer): number {
  const { overlapSeconds = DEFAULT_OVERLAP / 1000 } = readSmallBody(body, OVERLAP)
  return 1000 * overlapSeconds
}
