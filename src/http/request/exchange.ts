import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { AppError } from '../../domain/errors.ts'
import { type Actor, faultOfTokenName, type Identity } from '../../domain/token.ts'
import { readJsonBody } from '../../json/body.ts'
import { closing, HttpError } from '../refusal.ts'
import { readMediaType } from './head.ts'
import type { Method, Operation } from './operations.ts'
import { hasTextIds, TEXT_IDS_FAULT } from './text-ids.ts'

/** The change that a request asks for, as far as its handler knows it yet. */
export interface AuditedChange {
  readonly plant?: string
  outcome?: string
  /** Returns further members of the audit line, at the time when the line is written. */
  readonly details?: () => object
  /** Whether a part of the change may be stored when the rest fails. */
  readonly isGradual?: boolean
}

/** One request and its response, with everything that the service has found out about the request so far. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** `performance.now()` when the work on the request began. */
  readonly startedAt = performance.now()
  /** Undefined until the router has found one. */
  operation: Operation | undefined = undefined
  /** Percent-decoded, by their names in the contract. */
  pathParameters: Readonly<Record<string, string | undefined>> = NO_PARAMETERS
  /** What the path has before the one of the contract, below the path of the public address; paths of the answer get it. */
  prefix = ''
  identity: Identity | undefined = undefined
  /** Whose token was sent, if it was revoked. */
  revoked: Actor | undefined = undefined
  /** Whether ids in the body may be texts. */
  textIds = false
  /** Undefined until an answer or a line of the log needs it. */
  requestId: string | undefined = undefined
  /** The JSON of the id in a message of JSON-RPC, as its client wrote it; undefined until a handler has read it. */
  messageId: string | undefined = undefined
  /** Names and values in turn. */
  rateLimitHeaders: readonly string[] | undefined = undefined
  /** Undefined until the handler of a change has read its request. */
  change: AuditedChange | undefined = undefined
  /** Takes the answer in place of the client, where the service itself calls an operation. */
  take: ((status: number, headers: readonly string[], body: string) => void) | undefined = undefined
  #endReason: Error | undefined = undefined
  #abort: AbortController | undefined = undefined
  #failBody: ((refusal: AppError) => void) | undefined = undefined
  #bodyFault: AppError | undefined = undefined

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request
    this.response = response
  }

  /**
   * Aborts when the connection closes before it has taken the whole answer. The reason is an AppError when the service
   * cut the connection off. Work for this exchange listens to the signal, or passes it to the store, and frees its
   * resources. The first use creates the signal, because most requests need none.
   */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#endReason !== undefined) this.#abort.abort(this.#endReason)
    return this.#abort.signal
  }

  /** @throws Error in an operation that takes no token */
  get sender(): Identity {
    if (this.identity === undefined) throw new Error('an operation without a token has no sender')
    return this.identity
  }

  get actor(): Actor {
    return this.sender.actor
  }

  /** Whether the exchange ended without a whole answer. */
  get isOver(): boolean {
    return this.#endReason !== undefined
  }

  /** Ends the exchange without an answer, or in the middle of it. */
  giveUp(reason: Error = new Error('the client closed the connection')): void {
    if (this.#endReason !== undefined) return
    this.#endReason = reason
    this.#abort?.abort(reason)
    this.response.destroy()
  }

  /**
   * Sends 100 Continue to a client that waits for it (RFC 9110 section 10.1.1). A refused head gets none, so that its
   * client need not send the body.
   *
   * @param fail called when the rest of the body can never arrive, with the refusal for it
   */
  askForBody(fail: (refusal: AppError) => void): void {
    this.#failBody = fail
    const { httpVersion, headers } = this.request
    if (this.#bodyFault !== undefined) fail(this.#bodyFault)
    else if (headers.expect !== undefined && httpVersion === '1.1' && CONTINUE.test(headers.expect)) {
      this.response.writeContinue()
    }
  }

  /** Fails the body, whose rest can never arrive. The answer stays the same when no handler reads the body. */
  failBody(refusal: AppError): void {
    this.#bodyFault = refusal
    if (!this.response.headersSent) this.#failBody?.(refusal)
  }
}

const NO_PARAMETERS = {}

/** The expression by which Node.js recognizes a client that waits for 100 Continue. */
const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i

/** Handles an exchange. The caller refuses the exchange if this throws an error. */
export type Route = (exchange: Exchange) => void

/** Bytes. The largest plant, with every character as two escapes, takes 14.2 KiB. */
export const BODY_LIMIT = 16 * 2 ** 10

/**
 * Reads the whole body of a request.
 *
 * @param use called with the body, unless the client leaves first
 * @param refuse called instead with an AppError: 41301 when the body is too large, and the refusal of a body whose rest
 *   can never arrive
 * @throws AppError 41301 or 41501 where the headers suffice for a refusal
 */
export function readBody(
  exchange: Exchange,
  operation: Operation,
  use: (body: Buffer) => void,
  refuse: (refusal: unknown) => void,
): void {
  const { request } = exchange
  if (operation.isBodyOptional && hasNoBody(request.headers)) {
    use(NO_MEMBERS)
    return
  }
  checkBodyHeaders(exchange, operation, BODY_LIMIT)
  if (request.readableEnded) {
    use(EMPTY)
    return
  }
  let length = 0
  let isDone = false
  /** The first chunk, or a buffer of BODY_LIMIT with all chunks. Most bodies have one chunk. */
  let kept: Buffer = EMPTY
  const drop = (reason: unknown) => {
    if (isDone) return
    isDone = true
    kept = EMPTY
    refuse(reason)
  }
  request.on('data', (chunk: Buffer) => {
    if (isDone) return
    if (length + chunk.length > BODY_LIMIT) {
      drop(tooLarge(BODY_LIMIT))
      return
    }
    kept = length === 0 ? chunk : withChunk(kept, length, chunk)
    length += chunk.length
  })
  request.on('end', () => {
    if (isDone) return
    isDone = true
    use(kept.length === length ? kept : kept.subarray(0, length))
    kept = EMPTY
  })
  exchange.askForBody(drop)
}

/** Whether the headers announce neither a body nor its type (RFC 9112 section 6.3). */
const hasNoBody = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type'] === undefined &&
  headers['transfer-encoding'] === undefined &&
  Number(headers['content-length'] ?? 0) === 0

const EMPTY = Buffer.alloc(0)
const NO_MEMBERS = Buffer.from('{}')

/** Copies chunks into one buffer. In a list, a chunk of one byte would take more than 100 bytes. */
function withChunk(kept: Buffer, length: number, chunk: Buffer): Buffer {
  const buffer = kept.length === BODY_LIMIT ? kept : Buffer.allocUnsafeSlow(BODY_LIMIT)
  if (buffer !== kept) kept.copy(buffer, 0, 0, length)
  chunk.copy(buffer, length)
  return buffer
}

/**
 * Checks what the headers say of the body, and finds out whether its ids may be texts.
 *
 * @throws AppError 41301 for a body that is too large, 41501 for one of another type than the operation takes
 */
export function checkBodyHeaders(exchange: Exchange, operation: Operation, limit: number): void {
  const { headers } = exchange.request
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity') throw unsupported(operation, 'compressed bodies are not supported')
  const header = headers['content-type'] ?? ''
  // Nearly every request has exactly this type. This saves a create 1 µs.
  if (header === operation.mediaTypes[0]) return
  const mediaType = readMediaType(header)
  if (mediaType === undefined) {
    throw unsupported(operation, header === '' ? 'the Content-Type is missing' : 'the Content-Type is malformed')
  }
  if (!operation.mediaTypes.includes(mediaType.type)) throw unsupported(operation, 'the media type is not supported')
  const textIds = hasTextIds(mediaType)
  if (textIds === undefined) throw unsupported(operation, TEXT_IDS_FAULT)
  exchange.textIds = textIds
  const charset = (mediaType.parameters.get('charset') ?? 'utf-8').toLowerCase()
  if (charset === 'utf-8' || (charset === 'utf-16' && operation.isStreamed)) return
  throw unsupported(operation, 'the charset is not supported')
}

function unsupported({ method, mediaTypes }: Operation, what: string): AppError {
  return new HttpError(41501, `${what}; send ${mediaTypes.join(' or ')}, in UTF-8 and not compressed`, {
    headers: acceptedBodies(method, mediaTypes),
  })
}

/**
 * The header that names the media types of a body: Accept-Post (Linked Data Platform 1.0 section 7.1), Accept-Patch
 * (RFC 5789 section 3.1) or Accept (RFC 9110 section 12.5.1).
 */
export function acceptedBodies(method: Method, mediaTypes: readonly string[]): Record<string, string> {
  const name = { POST: 'Accept-Post', PATCH: 'Accept-Patch' }[method as string] ?? 'Accept'
  return mediaTypes.length === 0 ? {} : { [name]: mediaTypes.join(', ') }
}

/** Closes the connection, because to reuse it the service would have to read the rest of the body. */
const tooLarge = (limit: number): AppError => closing(41301, `the body is larger than ${limit} bytes`)

/** Reads the value of a member of a small body. @throws AppError 40002 whose message continues the name of the member */
type Reader<Value> = (value: unknown) => Value

/** A reader for each member of a body of the contract. */
export type Readers<Body> = { readonly [Member in keyof Body]-?: Reader<unknown> }

type Read<Table extends Readers<Table>, Required extends keyof Table> = {
  readonly [Member in keyof Table]?: ReturnType<Table[Member]>
} & { readonly [Member in Required]: ReturnType<Table[Member]> }

/**
 * Reads the body of an operation that takes a short object: the members that it has. An unknown member is a fault: to
 * ignore a mistyped name would change the meaning of the request.
 *
 * @param faultOf says what is wrong with the members together
 * @throws AppError 40001 for invalid JSON, 40002 that names every fault
 */
export function readSmallBody<Table extends Readers<Table>, Required extends keyof Table = never>(
  body: Buffer,
  readers: Table,
  required: readonly Required[] = [],
  faultOf: (members: Read<Table, never>) => string | undefined = () => undefined,
): Read<Table, Required> {
  if (!readJsonBody(body).isObject) throw new AppError(40002, 'the body must be an object')
  const members = new Map<string, unknown>(Object.entries(JSON.parse(body.toString())))
  const known = Object.entries<Reader<unknown>>(readers)
  const unknown = [...members.keys()].filter((member) => !Object.hasOwn(readers, member))
  // A long or strange name may be a misplaced secret, so the message leaves it out.
  const shown = unknown.filter((member) => /^\w{1,30}$/.test(member)).slice(0, 5)
  const names = shown.length === 0 ? '' : ` ${shown.join(', ')}`
  const has = `this operation has ${known.map(([member]) => member).join(', ')}`
  const faults = unknown.length === 0 ? [] : [`unknown member${names}; ${has}`]
  const entries = known.flatMap(([member, reader]) => {
    try {
      if (members.has(member)) return [[member, reader(members.get(member))]]
      if (required.some((each) => each === member)) faults.push(`${member} is required`)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      faults.push(`${member} ${error.message}`)
    }
    return []
  })
  const read = Object.fromEntries(entries) as Read<Table, Required>
  const together = faultOf(read)
  if (together !== undefined) faults.push(together)
  if (faults.length > 0) throw new AppError(40002, faults.join('; '))
  return read
}

export const wrong = (what: string): AppError => new AppError(40002, what)

export const integerFrom =
  (min: number, max: number): Reader<number> =>
  (value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
    throw wrong(`must be an integer from ${min} to ${max}`)
  }

/** Reads a text that follows the rules for the name of a token. */
export function readName(value: unknown): string {
  if (typeof value !== 'string') throw wrong('must be a string')
  const fault = faultOfTokenName(value)
  if (fault !== undefined) throw wrong(fault)
  return value
}
