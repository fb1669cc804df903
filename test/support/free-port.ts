import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * Finds a TCP port of the loopback address on which no process listens. The port is none of those that systems give to
 * connections and to servers without a port of their own, so it stays free until the caller uses it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000)
    const probe = createServer()
    const isFree = new Promise<boolean>((resolve) => {
      probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (await isFree) return port
  }
}
