import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'

/**
 * Collects the whole body of a request.
 *
 * @param limit bytes
 * @param use called with the body; undefined as soon as it is longer than the limit. Never called when the client goes
 *   away first
 * @param fail called instead when the rest of the body can never arrive
 */
export function readWhole(
  exchange: Exchange,
  limit: number,
  use: (body: Buffer | undefined) => void,
  fail: (refusal: AppError) => void,
): void {
  const { request } = exchange
  let length = 0
  let isDone = false
  let first: Buffer | undefined
  /** What comes behind the first chunk, which is most often all there is. */
  let more: Buffer[] | undefined
  const finish = () => {
    if (isDone) return
    isDone = true
    const whole = first === undefined || more === undefined ? first : Buffer.concat([first, ...more])
    first = undefined
    more = undefined
    use(length > limit ? undefined : (whole ?? EMPTY))
  }
  request.on('data', (chunk: Buffer) => {
    length += chunk.length
    if (isDone) return
    if (length > limit) finish()
    else if (first === undefined) first = chunk
    else if (more === undefined) more = [chunk]
    else more.push(chunk)
  })
  request.on('end', finish)
  exchange.askForBody((refusal) => {
    if (isDone) return
    isDone = true
    fail(refusal)
  })
}

const EMPTY = Buffer.alloc(0)
