import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../../config.ts'
import { HttpError } from '../response/http-error.ts'
import { type ParserError, refusalOfError, unknownMethod } from './connection-errors.ts'
import type { Connections } from './connections.ts'
import { RequestLines } from './request-lines.ts'

/** Node's HTTP server with the limits of the configuration. It sends no answers of its own. */
export function httpServer(config: Config, connections: Connections): Server {
  const server = createServer({
    headersTimeout: config.headersTimeout,
    requestTimeout: config.requestTimeout,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: config.keepAliveTimeout,
    maxHeaderSize: config.headerLimit,
    // By default Node.js refuses a request without Host without our error body, and drops duplicates of some headers.
    requireHostHeader: false,
    joinDuplicateHeaders: true,
  })
  server.on('connection', (socket) => connections.add(socket))
  const take = ({ socket }: IncomingMessage, response: ServerResponse) => connections.of(socket)?.take(response)
  server.on('request', take)
  // Exchange.askForBody sends 100 Continue.
  server.on('checkContinue', take)
  // RFC 9110 section 10.1.1 lets a server ignore an expectation that it does not know.
  server.on('checkExpectation', take)
  const lines = new RequestLines()
  server.on('clientError', (error: ParserError, stream) => {
    const socket = stream as Socket
    const connection = connections.of(socket)
    if (connection === undefined || error.code === 'ECONNRESET') socket.destroy()
    // The client has ended its side while parts still wait for the parser, so their requests are not incomplete.
    else if (error.code === 'HPE_INVALID_EOF_STATE' && connection.hasUnparsed) socket.end()
    else if (error.code === 'HPE_INVALID_METHOD') {
      lines.take(socket, error, (isLine) => connection.refuse(isLine ? unknownMethod() : refusalOfError(error)))
    } else if (!connection.isStreaming) connection.refuse(refusalOfError(error))
    // A body that a handler reads in pieces has deadlines of its own (pace.ts).
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return
    else if (error.code === 'HPE_INVALID_EOF_STATE') socket.destroy()
    else connection.refuse(refusalOfError(error))
  })
  server.on('connect', ({ socket }) => {
    connections.of(socket)?.refuse(new HttpError(40501, 'CONNECT is not supported', { headers: { Allow: '' } }))
  })
  return server
}
