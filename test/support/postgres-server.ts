import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { freePort } from './free-port.ts'
import { copyBinaries, serverUser } from './postgres-binaries.ts'
import { until } from './until.ts'

const WATCHDOG = fileURLToPath(new URL('./postgres-watchdog.ts', import.meta.url))
/** The environment variable with the folder of the programs and the empty data that the servers of a run share. */
export const TEMPLATE_VARIABLE = 'PLANTSTORE_TEST_POSTGRES_TEMPLATE'
const USER = 'plantstore'
const PASSWORD = 'a password: 100% /of@it?'

export interface ServerOptions {
  /** A folder with `bin/postgres`, in place of the PostgreSQL from npm. */
  readonly build?: string
  /** Settings of postgresql.conf, `name=value`, for every start. */
  readonly settings?: readonly string[]
}

/** A PostgreSQL for the tests, in a temporary folder and on a free port, with its default settings. */
export class PostgresServer {
  readonly port: number
  readonly #folder: string
  /** The folder of the server's programs. */
  readonly #programs: string
  readonly #settings: readonly string[]
  readonly #watchdog: ChildProcess
  #process: ChildProcess | undefined

  private constructor(folder: string, port: number, watchdog: ChildProcess, { build, settings = [] }: ServerOptions) {
    this.#folder = folder
    this.#programs = join(build ?? join(template() ?? folder, 'native'), 'bin')
    this.#settings = settings
    this.port = port
    this.#watchdog = watchdog
  }

  static async create(options: ServerOptions = {}): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare(options)
    try {
      if (options.build === undefined && template() !== undefined) server.#copyTemplate()
      else server.#initialise()
      await server.start()
      return server
    } catch (error) {
      await server.close()
      throw error
    }
  }

  /** Makes the template of the servers of a test run: each would take seconds of processor time to make its own. */
  static async makeTemplate(): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare({})
    server.#initialise()
    process.env[TEMPLATE_VARIABLE] = server.#folder
    return server
  }

  /** Starts a standby of this server, which stops for a moment. */
  async createStandby(): Promise<PostgresServer> {
    const standby = await PostgresServer.#prepare({})
    try {
      await this.stop()
      execFileSync('cp', ['-a', this.#data, standby.#data])
      await this.start()
      writeFileSync(join(standby.#data, 'standby.signal'), '')
      const primary = `host=127.0.0.1 port=${this.port} user=${USER} password='${PASSWORD}' application_name=standby`
      await standby.start([`primary_conninfo=${primary}`])
      return standby
    } catch (error) {
      await standby.close()
      throw error
    }
  }

  static async #prepare(options: ServerOptions): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'plantstore-postgres-'))
    // Starts before there is anything to clean up, and detached, so that it outlives a signal to the whole test run.
    const watchdog = spawn(process.execPath, [WATCHDOG, folder], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    })
    watchdog.unref()
    if (options.build === undefined && template() === undefined) copyBinaries(join(folder, 'native'))
    chmodSync(folder, 0o755)
    return new PostgresServer(folder, await freePort(), watchdog, options)
  }

  /** The address of a database of the server. */
  url(database = 'postgres', port = this.port): string {
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${database}`
  }

  /** @param settings further settings of postgresql.conf, `name=value` */
  async start(settings: readonly string[] = []): Promise<void> {
    const all = [...this.#settings, ...settings]
    const args = ['-D', this.#data, '-p', String(this.port), ...all.flatMap((setting) => ['-c', setting])]
    const log = openSync(join(this.#folder, 'log'), 'a')
    try {
      this.#process = this.#spawn(args, log)
      const isUp = async () => {
        if (await this.#answers()) return true
        const child = this.#process
        // After a crash, the children of the dead server end a moment later. No new server starts before.
        if (child !== undefined && hasEnded(child)) {
          if (!this.log.includes(LEFT_OVER)) throw new Error(`PostgreSQL does not start:\n${this.log}`)
          this.#process = this.#spawn(args, log)
        }
        return false
      }
      await until(isUp, () => `PostgreSQL does not answer:\n${this.log}`)
    } finally {
      closeSync(log)
    }
  }

  /** SIGKILL is a crash of the whole server; SIGTERM waits for clients, SIGINT does not. */
  async stop(signal: 'SIGKILL' | 'SIGINT' | 'SIGTERM' = 'SIGINT'): Promise<void> {
    const child = this.#process
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.ref()
    child.kill(signal)
    await ended
  }

  /** Pauses the server with its sessions: it answers nobody, but the system keeps its connections. */
  pause(): void {
    for (const pid of this.#processes) process.kill(pid, 'SIGSTOP')
  }

  resume(): void {
    for (const pid of this.#processes.reverse()) process.kill(pid, 'SIGCONT')
  }

  /** Its process id; undefined until it has started. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** The process of the server, then its children. */
  get #processes(): number[] {
    const { pid } = this
    if (pid === undefined) return []
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    return [
      pid,
      ...children
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map(Number),
    ]
  }

  /** The log of the server. */
  get log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8')
  }

  /** Stops the server and removes its files. */
  async close(): Promise<void> {
    if (hasEnded(this.#watchdog)) return
    const ended = once(this.#watchdog, 'exit')
    this.#watchdog.ref()
    this.#watchdog.stdin?.end()
    await ended
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  get #passFile(): string {
    return join(this.#folder, 'pgpass')
  }

  #program(name: string): string {
    return join(this.#programs, name)
  }

  #copyTemplate(): void {
    for (const path of [this.#data, this.#passFile]) {
      execFileSync('cp', ['-a', join(template() ?? '', basename(path)), path])
    }
  }

  #initialise(): void {
    const user = serverUser()
    const passwordFile = join(this.#folder, 'password')
    writeFileSync(passwordFile, PASSWORD)
    mkdirSync(this.#data)
    // A coordinator logs in to its workers with this file.
    writeFileSync(this.#passFile, `*:*:*:${USER}:${PASSWORD.replaceAll(/[\\:]/g, '\\$&')}`, { mode: 0o600 })
    const paths = [passwordFile, this.#passFile, this.#data]
    if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid)
    const args = ['-D', this.#data, '-U', USER, '-E', 'UTF8', '--locale=C', '-A', 'scram-sha-256', '--no-sync']
    execFileSync(this.#program('initdb'), [...args, '--no-instructions', `--pwfile=${passwordFile}`], {
      stdio: 'pipe',
      ...user,
    })
    writeFileSync(join(this.#data, 'postgresql.auto.conf'), CONFIGURATION)
  }

  #spawn(args: readonly string[], log: number): ChildProcess {
    const env = { ...process.env, PGPASSFILE: this.#passFile }
    const child = spawn(this.#program('postgres'), args, { stdio: ['ignore', log, log], env, ...serverUser() })
    // The server must not keep the process of a test alive. The watchdog ends the server then.
    child.unref()
    return child
  }

  async #answers(): Promise<boolean> {
    const client = new Client(this.url())
    client.on('error', () => {})
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
}

const template = (): string | undefined => process.env[TEMPLATE_VARIABLE]

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

const LEFT_OVER = 'is still in use'
const CONFIGURATION = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
`
