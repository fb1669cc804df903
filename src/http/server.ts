import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Config } from '../config.ts'
import { Incoming } from './incoming.ts'
import { answerSocketErrors, type Note } from './socket-errors.ts'

/** Node's HTTP server with the limits of the configuration, and with no way out of it but ours. */
export function httpServer(
  config: Config,
  onRequest: (request: Incoming, response: ServerResponse) => void,
  note: Note,
): Server<typeof Incoming> {
  const server = createServer<typeof Incoming>({
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
  server.on('request', onRequest)
  // The client is told to send its body once that is wanted (RFC 9110 section 10.1.1); refused before, it may leave the
  // body out or send it all the same, so Node closes the connection then.
  server.on('checkContinue', (request, response) => {
    request.onWanted = () => response.writeContinue()
    onRequest(request, response)
  })
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', onRequest)
  answerSocketErrors(server, note)
  return server
}
