import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanUp, type Scene } from './clean-up.ts'
import { freePort } from './free-port.ts'
import { serverUser } from './postgres-binaries.ts'
import { until } from './until.ts'

/** Starts a PgBouncer before a database. @returns the address by which clients reach the database through it */
export async function startPgBouncer(t: Scene, url: string, mode: 'session' | 'transaction'): Promise<string> {
  const server = new URL(url)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'plantstore-pgbouncer-'))
  const text = (value: string) => `'${decodeURIComponent(value).replaceAll("'", "''")}'`
  const parts = [
    `host=${server.hostname} port=${server.port} dbname=${server.pathname.slice(1)}`,
    `user=${text(server.username)} password=${text(server.password)}`,
  ]
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
store = ${parts.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
`,
  )
  chmodSync(folder, 0o755)
  const pooler = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...serverUser() })
  cleanUp(t, async () => {
    pooler.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  })
  await until(() => isListening(port), 'PgBouncer does not start')
  return `postgres://plantstore@127.0.0.1:${port}/store`
}

function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = createConnection(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
