import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../errors.ts'

export interface SendOptions {
  readonly signal: AbortSignal
  readonly stallTimeout: number
}

/**
 * Writes pieces to a response, each when the client has taken the one before.
 *
 * @param signal ends it with its reason; aborts also when the client has left
 * @param stallTimeout ms in which the client has to take something; 0: for ever
 * @throws AppError 40801, the reason of the signal, and what the pieces throw
 */
export async function sendPieces(
  response: ServerResponse,
  first: IteratorResult<string | Buffer, void>,
  rest: AsyncIterator<string | Buffer, void>,
  { signal, stallTimeout }: SendOptions,
): Promise<void> {
  for (let piece = first; piece.done !== true; piece = await rest.next()) {
    signal.throwIfAborted()
    if (!response.write(piece.value)) await drained(response, signal, stallTimeout)
    // A client that reads as fast as the store would else keep the event loop for itself.
    await nextTurn()
  }
}

/** The socket's own timer is used: it knows when the system has taken a part of what waits. */
function drained(response: ServerResponse, signal: AbortSignal, stallTimeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      response.off('drain', onDrain)
      response.off('timeout', onTimeout)
      signal.removeEventListener('abort', onAbort)
      response.setTimeout(0)
      outcome()
    }
    const onDrain = () => settle(resolve)
    const onAbort = () => settle(() => reject(signal.reason))
    const onTimeout = () =>
      settle(() => reject(new AppError(40801, `the client took nothing for ${stallTimeout / 1000} s`)))
    response.on('drain', onDrain)
    response.on('timeout', onTimeout)
    signal.addEventListener('abort', onAbort)
    response.setTimeout(stallTimeout)
  })
}
