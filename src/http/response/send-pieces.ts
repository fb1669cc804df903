import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { AppError } from '../../domain/errors.ts'
import { MinimumRate, type RateOptions } from '../connection/minimum-rate.ts'
import type { Exchange } from '../exchange.ts'

export interface SendOptions extends RateOptions {
  /** Ends the answer with the signal's reason. It must abort when the client leaves. */
  readonly signal: AbortSignal
}

/** Bytes of one write: small enough to show the speed of the client. */
const PART_SIZE = 32 * 2 ** 10

/**
 * Writes pieces to a response, each after the client has taken the one before.
 *
 * @throws AppError 40801 when the client is too slow; the reason of the signal; any error of the pieces
 */
export async function sendPieces(
  response: ServerResponse,
  first: IteratorResult<string | Buffer, void>,
  rest: AsyncIterator<string | Buffer, void>,
  options: SendOptions,
): Promise<void> {
  const rate = new MinimumRate(options)
  for (let piece = first; piece.done !== true; piece = await rest.next()) {
    const bytes = Buffer.from(piece.value)
    for (let start = 0; start < bytes.length; start += PART_SIZE) {
      options.signal.throwIfAborted()
      const part = bytes.subarray(start, start + PART_SIZE)
      if (!response.write(part)) await drained(response, rate, options)
      rate.moved(0, part.length)
    }
    // A client that reads as fast as the store would otherwise occupy the event loop.
    await nextTurn()
  }
}

/** Waits for the client. The timer of the socket starts again when the system takes a part of the waiting bytes. */
function drained(response: ServerResponse, rate: MinimumRate, options: SendOptions): Promise<void> {
  const { signal, stallTimeout, leastSpeed } = options
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      response.off('drain', onDrain)
      response.off('timeout', onTimeout)
      signal.removeEventListener('abort', onAbort)
      response.setTimeout(0)
      clearTimeout(slow)
      rate.moved(performance.now() - startedAt, 0)
      outcome()
    }
    const onDrain = () => settle(resolve)
    const onAbort = () => settle(() => reject(signal.reason))
    const refuse = (message: string) => settle(() => reject(new AppError(40801, message)))
    const onTimeout = () => refuse(`the client read nothing for ${stallTimeout / 1000} s`)
    const slow =
      stallTimeout > 0
        ? setTimeout(refuse, rate.left, `the client read less than ${leastSpeed} bytes per second`)
        : undefined
    response.on('drain', onDrain)
    response.on('timeout', onTimeout)
    signal.addEventListener('abort', onAbort)
    response.setTimeout(stallTimeout)
  })
}

/** Bytes of one write to the operating system: small enough to show whether the client takes any. */
export const SLICE_SIZE = 2 ** 16

/**
 * Writes a body that is too large for one write. UnreadAnswers watches the speed of the client.
 *
 * @throws the reason of the exchange's signal once its client has left
 */
export async function sendInSlices({ response, signal }: Exchange, body: Buffer): Promise<void> {
  for (let from = 0; from < body.length; from += SLICE_SIZE) {
    signal.throwIfAborted()
    if (!response.write(body.subarray(from, from + SLICE_SIZE))) await untilDrained(response, signal)
  }
}

function untilDrained(response: ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void) => {
      response.off('drain', onDrain)
      signal.removeEventListener('abort', onAbort)
      outcome()
    }
    const onDrain = () => settle(resolve)
    const onAbort = () => settle(() => reject(signal.reason))
    response.on('drain', onDrain)
    signal.addEventListener('abort', onAbort)
  })
}
