import type { AppError } from '../../domain/errors.ts'
import { MinimumRate, type RateOptions } from '../connection/minimum-rate.ts'
import type { Exchange } from '../exchange.ts'
import { HttpError } from '../response/http-error.ts'

export interface PieceOptions extends RateOptions {
  /** Ends the reading with the signal's reason. It must abort when the signal of the exchange does. */
  readonly signal: AbortSignal
}

const EVENTS = ['readable', 'end', 'close', 'error'] as const

/**
 * Yields the body of a request in pieces, and reads no faster than the caller takes them. A piece holds all bytes that
 * arrived since the last one. The client must keep pace only while the caller waits for it.
 *
 * @throws AppError 40801 when the client is too slow, and the refusal when the rest of the body cannot arrive; the
 *   reason of the signal
 */
export async function* bodyPieces(
  exchange: Exchange,
  { signal, ...options }: PieceOptions,
): AsyncGenerator<Buffer, void> {
  const { request } = exchange
  let wake = () => {}
  let fault: AppError | undefined
  const rate = new MinimumRate(options)
  const onChange = () => wake()
  for (const event of EVENTS) request.on(event, onChange)
  signal.addEventListener('abort', onChange)
  exchange.askForBody((refusal) => {
    fault = refusal
    wake()
  })
  try {
    for (;;) {
      signal.throwIfAborted()
      const piece = request.read() as Buffer | null
      if (piece !== null) {
        rate.moved(0, piece.length)
        yield piece
      } else if (request.readableEnded) return
      else if (fault !== undefined) throw fault
      else await waitInTime((resolve) => (wake = resolve), rate, options)
    }
  } finally {
    for (const event of EVENTS) request.off(event, onChange)
    signal.removeEventListener('abort', onChange)
  }
}

function waitInTime(start: (resolve: () => void) => void, rate: MinimumRate, options: RateOptions): Promise<void> {
  const { stallTimeout, leastSpeed } = options
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const refuse = (message: string) => reject(new HttpError(40801, message, { headers: CLOSE }))
    const timers: NodeJS.Timeout[] = []
    if (stallTimeout > 0) {
      timers.push(setTimeout(refuse, stallTimeout, `the client sent nothing for ${stallTimeout / 1000} s`))
      timers.push(setTimeout(refuse, rate.left, `the client sent less than ${leastSpeed} bytes per second`))
    }
    start(() => {
      for (const timer of timers) clearTimeout(timer)
      rate.moved(performance.now() - startedAt, 0)
      resolve()
    })
  })
}

const CLOSE = { Connection: 'close' }
