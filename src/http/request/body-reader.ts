import type { AppError } from '../../errors.ts'
import type { Exchange } from '../exchange.ts'

/**
 * Collects the whole body of a request.
 *
 * @param limit bytes
 * @param use called with the body, or with undefined as soon as the body exceeds the limit. Not called when the client
 *   leaves first
 * @param fail called instead when the rest of the body can not arrive
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
  /** The chunks after the first. Most bodies have one chunk. */
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
