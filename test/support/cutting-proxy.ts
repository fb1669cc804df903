import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { cleanUp } from './clean-up.ts'

export interface CuttingProxy {
  readonly address: string
  /** The number of connections so far. */
  readonly connections: number
  /** Resolves once the proxy has forwarded the allowed bytes of answers. */
  readonly held: Promise<void>
}

/**
 * A proxy that resets a connection after a number of bytes.
 *
 * @param address of the service behind the proxy, `http://host:port`
 * @param limits bytes to the service (`sent`) or from it (`received`) before the reset; with `holds` the proxy stalls
 *   the connection instead; `connections` limits this to the first connections
 */
export async function cuttingProxy(
  t: TestContext,
  address: string,
  limits: { sent?: number; received?: number; connections?: number; holds?: true },
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(address)
  const { sent = Number.POSITIVE_INFINITY, received = Number.POSITIVE_INFINITY } = limits
  const sockets = new Set<Socket>()
  const held = Promise.withResolvers<void>()
  let connections = 0
  const server = createServer((client) => {
    const service = connect(Number(port), hostname)
    const cuts = ++connections <= (limits.connections ?? Number.POSITIVE_INFINITY)
    const reset = () => {
      client.resetAndDestroy()
      service.resetAndDestroy()
    }
    const pass = (from: Socket, to: Socket, limit: number) => {
      let passed = 0
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => to.destroy())
      from.on('data', (chunk: Buffer) => {
        passed += chunk.length
        if (!cuts || passed < limit) to.write(chunk)
        else if (limits.holds !== true) reset()
        else if (passed - chunk.length < limit) to.write(chunk.subarray(0, limit - passed), () => held.resolve())
      })
    }
    pass(client, service, sent)
    pass(service, client, received)
  })
  await once(server.listen({ port: 0, host: '127.0.0.1' }), 'listening')
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections
    },
    held: held.promise,
  }
}
