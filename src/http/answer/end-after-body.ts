import type { ServerResponse } from 'node:http'

/** Milliseconds between two checks whether more of the body has arrived. */
const INTERVAL = 1000
/** Checks after which the rest of a body has taken too long. */
const MAX_CHECKS = 30
/** The same for a request without a valid token. */
const MAX_CHECKS_UNAUTHORIZED = 5

/**
 * Sends an answer before its whole request has arrived, and drops the rest of the request. An immediate close would
 * reset the connection of a client that still sends, and many clients then never read the answer. Closes the connection
 * when nothing arrives between two checks, or when the rest takes too long.
 *
 * @param body what has not been written of the answer
 */
export function endAfterBody(response: ServerResponse, body?: string | Buffer): void {
  const { req } = response
  let checksLeft = response.statusCode === 401 ? MAX_CHECKS_UNAUTHORIZED : MAX_CHECKS
  let hasArrived = false
  const check = () => {
    checksLeft--
    if (!hasArrived || checksLeft === 0) response.destroy()
    hasArrived = false
  }
  const timer = setInterval(check, INTERVAL).unref()
  const end = () => {
    clearInterval(timer)
    req.socket.off('end', end)
    response.end()
  }
  if (body !== undefined) response.write(body)
  response.flushHeaders()
  req.on('data', () => {
    hasArrived = true
  })
  req.once('end', end)
  req.once('close', end)
  // A client that has ended its side sends no more, and its reset would not show.
  if (req.socket.readableEnded) end()
  else req.socket.once('end', end)
}
