import type { ServerResponse } from 'node:http'

/** Milliseconds between two looks at what has arrived. */
const INTERVAL = 1000
/** Looks after which the rest of a body has taken too long. */
const MOST = 30
/** The same where the token gives no right to send anything. */
const MOST_UNAUTHORIZED = 5

/**
 * Sends an answer before its request has arrived as a whole, and drops the rest of the request. Closing at once would
 * reset the connection under a client that still sends, and many clients then never read the answer. Closes the
 * connection when nothing arrives between two looks, or when the rest takes too long.
 */
export function endAfterBody(response: ServerResponse, body: string | Buffer): void {
  const { req } = response
  let looksLeft = response.statusCode === 401 ? MOST_UNAUTHORIZED : MOST
  let hasMoved = false
  const look = () => {
    looksLeft--
    if (!hasMoved || looksLeft === 0) response.destroy()
    hasMoved = false
  }
  const timer = setInterval(look, INTERVAL).unref()
  const end = () => {
    clearInterval(timer)
    response.end()
  }
  response.write(body)
  req.on('data', () => {
    hasMoved = true
  })
  req.once('end', end)
  req.once('close', end)
}
