import { AppError } from '../errors.ts'
import { ClientGone } from './client-gone.ts'
import type { Incoming } from './incoming.ts'

export interface PieceOptions {
  /** Milliseconds in which something has to come; 0: for ever. It is not counted while nobody asks for more. */
  readonly stallTimeout: number
  /** Ends the reading with its reason. */
  readonly stopping: AbortSignal
}

const EVENTS = ['readable', 'end', 'close', 'error'] as const

/**
 * The body of a request in pieces, read no faster than they are taken; what has come meanwhile is one piece.
 *
 * @throws ClientGone, AppError 40801, and the reason of the signal
 */
export async function* bodyPieces(
  request: Incoming,
  { stallTimeout, stopping }: PieceOptions,
): AsyncGenerator<Buffer, void> {
  let wake = () => {}
  const onChange = () => wake()
  for (const event of EVENTS) request.on(event, onChange)
  stopping.addEventListener('abort', onChange)
  request.isStreamed = true
  request.onWanted?.()
  try {
    for (;;) {
      stopping.throwIfAborted()
      const piece = request.read() as Buffer | null
      if (piece !== null) yield piece
      else if (request.readableEnded) return
      else if (request.destroyed) throw new ClientGone()
      else await inTime((resolve) => (wake = resolve), stallTimeout)
    }
  } finally {
    for (const event of EVENTS) request.off(event, onChange)
    stopping.removeEventListener('abort', onChange)
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
