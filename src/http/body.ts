import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../errors.ts'

/** Reads whole bodies of the given media type as bytes, and nothing of what it refuses. */
export function addBodyParser(app: FastifyInstance, mediaType: string, bodyLimit: number): void {
  app.addContentTypeParser(mediaType, (request, payload, done) => {
    const refusal = refusalByHeaders(request, bodyLimit)
    if (refusal !== undefined) return done(refusal)
    const chunks: Buffer[] = []
    let length = 0
    payload.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length <= bodyLimit) chunks.push(chunk)
      else if (length - chunk.length <= bodyLimit) done(tooLarge(bodyLimit))
    })
    payload.on('end', () => {
      if (length <= bodyLimit) done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    })
    // The client went away, or its time ran out: nobody is there to be answered (socket-errors.ts answers the latter).
    payload.on('error', () => {})
  })
}

/** @throws nothing: it is the AppError 41301 or 41501 that the headers alone call for */
function refusalByHeaders(request: FastifyRequest, bodyLimit: number): AppError | undefined {
  const { headers } = request
  if (Number(headers['content-length']) > bodyLimit) return tooLarge(bodyLimit)
  const charset = /;\s*charset="?([^";\s]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (charset.toLowerCase() !== 'utf-8')
    return new AppError(41501, `the charset ${charset} is not supported; send UTF-8`)
  const coding = headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity')
    return new AppError(41501, 'compressed bodies are not supported; send it plain')
  const transfer = headers['transfer-encoding'] ?? 'chunked'
  if (transfer.toLowerCase() !== 'chunked') return new AppError(41501, 'the only transfer coding supported is chunked')
  return undefined
}

/** The rest of the body would have to be read before the connection could be used again, so it is closed. */
const tooLarge = (bodyLimit: number): AppError =>
  new AppError(41301, `the body is larger than ${bodyLimit} bytes`, { headers: { Connection: 'close' } })
