import { AppError } from '../errors.ts'
import type { Exchange } from './exchange.ts'

export interface PieceOptions {
  /** Milliseconds in which something has to come; 0: for ever. It is not counted while nobody asks for more. */
  readonly stallTimeout: number
  /** Ends the reading with its reason; aborts also when the exchange's does. */
  readonly signal: AbortSignal
}

const EVENTS = ['readable', 'end', 'close', 'error'] as const

/**
 * The body of a request in pieces, read no faster than they are taken; what has come meanwhile is one piece.
 *
 * @throws AppError 40801, what is wrong with the rest of the body, and the reason of the signal
 */
export async function* bodyPieces(
  exchange: Exchange,
  { stallTimeout, signal }: PieceOptions,
): AsyncGenerator<Buffer, void> {
  const { request } = exchange
  let wake = () => {}
  let fault: AppError | undefined
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
      if (piece !== null) yield piece
      else if (request.readableEnded) return
      else if (fault !== undefined) throw fault
      else await inTime((resolve) => (wake = resolve), stallTimeout)
    }
  } finally {
    for (const event of EVENTS) request.off(event, onChange)
    signal.removeEventListener('abort', onChange)
  }
}

function inTime(start: (resolve: () => void) => void, time: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const stalled = () => reject(new AppError(40801, `nothing more came for ${time / 1000} s`, { headers: CLOSE }))
    const timer = time > 0 ? setTimeout(stalled, time) : undefined
    start(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const CLOSE = { Connection: 'close' }
