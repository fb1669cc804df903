import { createServer, type Socket } from 'node:net'
import { quantilesOf } from './answers.ts'

/**
 * A receiver of webhooks in a process of its own, which answers each request with 204, or never where the path is
 * /hang. It speaks HTTP over plain sockets, because a server of node:http would take more time than what is measured.
 */
export interface Received {
  readonly count: number
  /** Milliseconds from the changes to the requests for them. */
  readonly p50: number
  readonly p99: number
}

const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
let delays: number[] = []

function take(socket: Socket): void {
  let rest = ''
  socket.setNoDelay(true)
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    rest += chunk
    for (let end = endOfRequest(rest); end !== undefined; end = endOfRequest(rest)) {
      const request = rest.slice(0, end)
      rest = rest.slice(end)
      if (request.startsWith('POST /hang')) continue
      const at = request.indexOf('"timestamp":"') + '"timestamp":"'.length
      delays.push(Date.now() - Date.parse(request.slice(at, request.indexOf('"', at))))
      socket.write(ANSWER)
    }
  })
  socket.on('error', () => socket.destroy())
}

/** Undefined while the request is not whole. */
function endOfRequest(text: string): number | undefined {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return undefined
  const end = head + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1])
  return end <= text.length ? end : undefined
}

const server = createServer(take).listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' && address !== null ? address.port : undefined)
})
process.on('message', () => {
  process.send?.({ count: delays.length, ...quantilesOf(delays) } satisfies Received)
  delays = []
})
process.on('disconnect', () => process.exit())
