import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cleanUp } from './clean-up.ts'

/** The state of the network: it forwards everything (`passes`), drops everything (`silent`) or resets (`down`). */
export type NetworkState = 'passes' | 'silent' | 'down'

export interface TcpProxy {
  readonly port: number
  /** Connections so far. */
  connections: number
  state: NetworkState
  /** Milliseconds by which the proxy delays each piece of data. */
  delay: number
}

/** A proxy to a server on this machine that simulates a network in any state. */
export async function tcpProxy(t: TestContext, target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let state: NetworkState = 'passes'
  const server = createServer((client) => {
    if (state === 'down') return client.resetAndDestroy()
    proxy.connections++
    const upstream = connect(target, '127.0.0.1')
    carry(client, upstream)
    carry(upstream, client)
  })

  function carry(from: Socket, to: Socket): void {
    sockets.add(from)
    let last = Promise.resolve()
    from.on('data', (chunk: Buffer) => {
      if (state !== 'passes') return
      const { delay } = proxy
      // Forwards the pieces in order.
      last = last.then(async () => {
        if (delay > 0) await sleep(delay)
        to.write(chunk)
      })
    })
    from.on('error', () => {})
    from.on('close', () => {
      sockets.delete(from)
      if (state === 'passes') to.destroy()
    })
  }

  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanUp(t, () => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxy: TcpProxy = {
    port: (server.address() as AddressInfo).port,
    delay: 0,
    connections: 0,
    get state() {
      return state
    },
    set state(next) {
      state = next
      if (next === 'down') for (const socket of sockets) socket.resetAndDestroy()
    },
  }
  return proxy
}
