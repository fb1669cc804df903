import type { ServerResponse } from 'node:http'

/** How long the rest of a body is waited for at most, and how long for any of it, in ms. */
const TOTAL = 30_000
const IDLE = 1000

/**
 * Sends an answer whose request has not arrived as a whole, and throws the rest of that away until it has. Ending at
 * once would reset the connection under a client that still sends, and many then never read the answer.
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
