import { writeFileSync } from 'node:fs'
import type { Agent, AgentOptions } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect as connectSecurely, setDefaultCACertificates } from 'node:tls'
import { http } from '../../src/base/http.ts'

export interface Pair {
  /** PEM, with the chain. */
  readonly cert: string
  readonly key: string
}

/** The certificate of the services of this test process; undefined: they speak clear text. */
const transport: { pair: Pair | undefined } = { pair: undefined }

/**
 * Makes every service that this process starts use TLS, and every client of this process trust it, so that the tests of
 * HTTP run over it unchanged, except for `clearTest`. Call it before a file of tests is imported.
 */
export async function useTls(): Promise<void> {
  const { makeCertificate } = await import('./certificates.ts')
  const { authority, ...pair } = await makeCertificate()
  setDefaultCACertificates([authority])
  transport.pair = pair
}

/** A test of what TLS cannot change: it runs in clear text alone. */
export function clearTest(title: string, run: (t: TestContext) => Promise<void> | void): void {
  if (transport.pair === undefined) test(title, run)
}

export const certificate = (): Pair | undefined => transport.pair

/** Returns an agent for requests to the services of this process. */
export const newAgent = (options: AgentOptions): Agent =>
  transport.pair === undefined ? new http.Agent(options) : new SecureAgent(options)

/** Writes a pair as `cert.pem` and `key.pem`, of which only the owner may read the key. @returns arguments of `serve` */
export function writePair(folder: string, { cert, key }: Pair): string[] {
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(certPath, cert)
  writeFileSync(keyPath, key, { mode: 0o600 })
  return ['--tls-cert', certPath, '--tls-key', keyPath]
}

/** Connects to a service of this process. What is written before the end of a handshake follows it. */
export function connectTo(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  if (transport.pair === undefined) return socket
  const secure = connectSecurely({ socket, servername: 'localhost' })
  // Node.js resets no connection under TLS.
  secure.resetAndDestroy = () => {
    socket.resetAndDestroy()
    return secure
  }
  return secure
}
