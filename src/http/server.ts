import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Config } from '../config.ts'
import { Incoming } from './incoming.ts'
import { answerSocketErrors, type Note } from './socket-errors.ts'

/** Node's HTTP server with the limits of the configuration, and with no way out of it but ours. */
export function httpServer(config: Config, handler: unknown, note: Note): Server {
  const server = createServer({
    IncomingMessage: Incoming,
    headersTimeout: config.headersTimeout,
    requestTimeout: config.requestTimeout,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: config.keepAliveTimeout,
    maxHeaderSize: config.headerLimit,
    // Both would be answered, or dropped, by Node without our body.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  })
  server.on('request', handler as RequestListener)
  server.on('checkContinue', (request, response) => {
    continueWhenWanted(request as Incoming, response)
    server.emit('request', request, response)
  })
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  answerSocketErrors(server, note)
  return server
}

/**
 * `Expect: 100-continue` (RFC 9110 section 10.1.1): the client is told to send its body once that is wanted. A refusal
 * before closes the connection, as the client may then leave the body out or send it all the same.
 */
function continueWhenWanted(request: Incoming, response: ServerResponse): void {
  const { shouldKeepAlive } = response
  response.shouldKeepAlive = false
  request.onWanted = () => {
    response.shouldKeepAlive = shouldKeepAlive
    response.writeContinue()
  }
}
