import type { AppError } from '../../domain/errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Method, Operation } from '../operations.ts'
import { HttpError } from '../response/http-error.ts'
import type { BodyMemory } from './body-memory.ts'
import { type MediaType, readMediaType } from './media-type.ts'

/**
 * Reads the whole body of a request, or refuses it by its headers.
 *
 * @param memory has the size limit
 * @param use called with the body, unless the client leaves first
 * @param refuse called instead with an AppError: 41301 when the body is too large, 41501 when the operation does not
 *   take its media type, 42901 or 50302 when bodies take too much memory
 */
export function readBody(
  exchange: Exchange,
  operation: Operation,
  memory: BodyMemory,
  use: (body: Buffer) => void,
  refuse: (refusal: AppError) => void,
): void {
  const limit = memory.bodyLimit
  const refusal = refusalByHeaders(exchange, operation, limit)
  if (refusal === undefined) {
    readWhole(exchange, memory, (body) => (body === undefined ? refuse(tooLarge(limit)) : use(body)), refuse)
  } else {
    refuse(refusal)
  }
}

/** Returns the refusal of a body by its headers; undefined where they are acceptable. */
export function refusalByHeaders(
  { request: { headers } }: Exchange,
  operation: Operation,
  limit: number,
): AppError | undefined {
  if (Number(headers['content-length'] ?? 0) > limit) return tooLarge(limit)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity') return unsupported(operation, 'compressed bodies are not supported')
  const type = headers['content-type']
  // Nearly every request has exactly this type. This saves a create 1 µs.
  return type === operation.mediaTypes[0] ? undefined : refusalByType(operation, type ?? '')
}

function refusalByType(operation: Operation, header: string): AppError | undefined {
  const mediaType = readMediaType(header)
  if (mediaType === undefined) {
    return unsupported(operation, header === '' ? 'the Content-Type is missing' : 'the Content-Type is malformed')
  }
  if (!operation.mediaTypes.includes(mediaType.type)) return unsupported(operation, 'the media type is not supported')
  const charset = charsetOf(mediaType)
  if (charset === 'utf-8' || (charset === 'utf-16' && operation.isStreamed)) return undefined
  return unsupported(operation, 'the charset is not supported')
}

/** The charset of a body, in lower case. */
export const charsetOf = ({ parameters }: MediaType): string => (parameters.get('charset') ?? 'utf-8').toLowerCase()

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
const tooLarge = (limit: number): AppError =>
  new HttpError(41301, `the body is larger than ${limit} bytes`, { headers: { Connection: 'close' } })

/**
 * Collects the whole body of a request.
 *
 * @param memory has the size limit, and counts the bytes of this body
 * @param use called with the body, or with undefined as soon as the body exceeds the limit; never called when the
 *   client leaves first
 * @param fail called instead when the rest of the body cannot arrive, or the memory has no room for it
 */
function readWhole(
  exchange: Exchange,
  memory: BodyMemory,
  use: (body: Buffer | undefined) => void,
  fail: (refusal: AppError) => void,
): void {
  const { request } = exchange
  if (request.readableEnded) {
    use(EMPTY)
    return
  }
  let length = 0
  let isDone = false
  /** The first chunk, then larger buffers with the chunks after it. Most bodies have one chunk. */
  let kept: Buffer = EMPTY
  const drop = (report: () => void) => {
    if (isDone) return
    isDone = true
    kept = EMPTY
    memory.release(exchange)
    report()
  }
  request.on('data', (chunk: Buffer) => {
    const from = length
    length += chunk.length
    if (isDone) return
    if (length > memory.bodyLimit) return drop(() => use(undefined))
    try {
      kept = withChunk(exchange, memory, kept, from, chunk)
    } catch (error) {
      drop(() => fail(error as AppError))
    }
  })
  request.on('end', () => {
    if (isDone) return
    isDone = true
    use(kept.length === length ? kept : kept.subarray(0, length))
    kept = EMPTY
  })
  exchange.askForBody((refusal) => drop(() => fail(refusal)))
}

const EMPTY = Buffer.alloc(0)

/** Copies chunks into one buffer. In a list, a chunk of one byte would take more than 100 bytes. */
function withChunk(exchange: Exchange, memory: BodyMemory, kept: Buffer, length: number, chunk: Buffer): Buffer {
  const needed = length + chunk.length
  if (length > 0 && needed <= kept.length) {
    chunk.copy(kept, length)
    return kept
  }
  const size = length === 0 ? needed : Math.min(memory.bodyLimit, Math.max(needed, 2 * kept.length))
  memory.grow(exchange, size)
  if (length === 0) return chunk
  const larger = Buffer.allocUnsafeSlow(size)
  kept.copy(larger, 0, 0, length)
  chunk.copy(larger, length)
  return larger
}
