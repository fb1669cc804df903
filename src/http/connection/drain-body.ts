import type { ServerResponse } from 'node:http'

/** Milliseconds that the rest of a body may take, and that may pass without any of its bytes. */
const TOTAL = 30_000
const IDLE = 1000

/**
 * Sends an answer before its request has arrived as a whole, and drops the rest of the request. Closing at once would
 * reset the connection under a client that still sends, and many clients then never read the answer.
 */
export function endAfterBody(response: ServerResponse, body: string | Buffer): void {
  const { req } = response
  const giveUp = () => response.destroy()
  const total = setTimeout(giveUp, TOTAL).unref()
  const idle = setTimeout(giveUp, IDLE).unref()
  const end = () => {
    clearTimeout(total)
    clearTimeout(idle)
    response.end()
  }
  response.write(body)
  req.on('data', () => idle.refresh())
  req.once('end', end)
  req.once('close', end)
}
