import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scene } from './clean-up.ts'
import { pass } from './portal.ts'

/** A proxy of Node.js on this machine. It answers 404 outside of the paths that it serves. */
export class PathProxy {
  readonly origin: string
  /** The ports of the services, by their paths. */
  readonly ports = new Map<string, number>()

  /** @param strips whether the services get their requests without the path */
  static async start(scene: Scene, strips: boolean): Promise<PathProxy> {
    const server = createServer((asked, answer) => {
      const url = asked.url ?? ''
      const found = [...proxy.ports].find(([path]) => url === path || url.startsWith(`${path}/`))
      if (found === undefined) return void answer.writeHead(404).end()
      const [base, port] = found
      const path = strips ? url.slice(base.length) || '/' : url
      pass(port, asked, answer, path)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const proxy = new PathProxy((server.address() as AddressInfo).port)
    scene.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return proxy
  }

  constructor(port: number) {
    this.origin = `http://127.0.0.1:${port}`
  }
}
