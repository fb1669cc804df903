import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { BodyMemory } from './body-memory.ts'

/**
 * Collects the whole body of a request.
 *
 * @param memory has the limit of a body, and counts what is kept of this one
 * @param use called with the body, or with undefined as soon as the body exceeds the limit. Not called when the client
 *   leaves first
 * @param fail called instead when the rest of the body can not arrive, or finds no room
 */
export function readWhole(
  exchange: Exchange,
  memory: BodyMemory,
  use: (body: Buffer | undefined) => void,
  fail: (refusal: AppError) => void,
): void {
  const { request } = exchange
  let length = 0
  let isDone = false
  /** The first chunk, then larger buffers with the chunks after it. Most bodies have one chunk. */
  let kept: Buffer = EMPTY
  const drop = (tell: () => void) => {
    if (isDone) return
    isDone = true
    kept = EMPTY
    memory.letGo(exchange)
    tell()
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

/** Keeps no list of chunks: a chunk of one byte would take 100 bytes and more. */
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
