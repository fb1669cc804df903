import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { OperatorError } from '../base/operator-error.ts'
import type { Config, ListenAddress } from '../settings/config.ts'

/**
 * Checks the ports of the service, at the same time: a start that cannot listen on both must not create or change a
 * store.
 */
export async function mustHaveFreePorts({ host, port, metricsPort }: Config): Promise<void> {
  await using probes = new AsyncDisposableStack()
  const probe = (address: ListenAddress, flag: string) => {
    const server = probes.use(createServer())
    return listen({ server, listen: (at) => once(server.listen(at), 'listening') }, address, flag)
  }
  await probe({ host, port }, '--port')
  if (metricsPort !== undefined) await probe(metricsPort, '--metrics-port')
}

/** Returns the port, which the system may have chosen. */
export async function listen(
  at: { readonly server: Server; listen(address: ListenAddress): Promise<unknown> },
  { host, port }: ListenAddress,
  flag: string,
): Promise<number> {
  try {
    await at.listen({ host, port })
  } catch (error) {
    throw listenError(error, { host, port }, flag)
  }
  return (at.server.address() as AddressInfo).port
}

function listenError(error: unknown, { host, port }: ListenAddress, flag: string): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  const inUse = `the port is in use; ${flag} chooses another one`
  const why = { EADDRINUSE: inUse, EACCES: 'this user may not use the port' }[code] ?? code
  return new OperatorError(`can't listen on ${host} port ${port}: ${why}`, { cause: error })
}
