import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import { ClientGone } from './client-gone.ts'

/**
 * Writes pieces to a response, each when the client has taken the one before.
 *
 * @param stallTimeout ms in which the client has to take something; 0: for ever
 * @throws ClientGone, AppError 40801, and what the pieces throw
 */
export async function sendPieces(
  response: ServerResponse,
  first: IteratorResult<string, void>,
  rest: AsyncIterator<string, void>,
  stallTimeout: number,
): Promise<void> {
  for (let piece = first; piece.done !== true; piece = await rest.next()) {
    if (response.destroyed) throw new ClientGone()
    if (!response.write(piece.value)) await drained(response, stallTimeout)
    // A client that reads as fast as the store would else keep the event loop for itself.
    await nextTurn()
  }
}

/** The socket's own timer is used: it knows when the system has taken a part of what waits. */
function drained(response: ServerResponse, stallTimeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      response.off('drain', onDrain)
      response.off('close', onClose)
      response.off('timeout', onTimeout)
      response.setTimeout(0)
      outcome()
    }
    const onDrain = () => settle(resolve)
    const onClose = () => settle(() => reject(new ClientGone()))
    const onTimeout = () =>
      settle(() => reject(new AppError(40801, `the client took nothing for ${stallTimeout / 1000} s`)))
    response.on('drain', onDrain)
    response.on('close', onClose)
    response.on('timeout', onTimeout)
    response.setTimeout(stallTimeout)
    if (response.destroyed) onClose()
  })
}
