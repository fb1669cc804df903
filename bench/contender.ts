import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { programFlags } from '../scripts/repository.ts'
import { freePort } from '../test/support/free-port.ts'
import type { LoadOptions, LoadResult } from './load.ts'

export const TOKEN = 'bench-only-k7Qz3fV0pW9mX2rT5sN8'
const HERE = import.meta.dirname
/** The most processor time of an idle server in half a second. */
const IDLE_TICKS = 5

/** A server to compare with others. */
export interface Contender {
  readonly name: string
  /** Path to the program below bench/, and its arguments. */
  readonly program: readonly string[]
  /** Flags for Node.js. */
  readonly flags?: readonly string[]
  /** The only core to run on, if the system can pin processes. */
  readonly core?: number
  /** The address of the store; by default a file in a temporary folder. */
  readonly store?: string
}

export const BARE: Contender = { name: 'bare node:http', program: ['bare-server.ts'] }
export const ECHO: Contender = { name: 'raw TCP echo', program: ['echo-server.ts'] }
/** The service as every way starts it. */
export const SHIPPED: Contender = {
  name: 'as it ships',
  flags: programFlags(),
  program: ['../bin/plantstore.js', 'serve'],
}
export const SINGLE = variant('one commit per create', 'one-commit-per-create')

export function variant(name: string, decision: string): Contender {
  return { ...SHIPPED, name, program: ['variant-server.ts', decision] }
}

/** A running contender with its own store. */
export class Running {
  readonly contender: Contender
  /** Milliseconds from the start of the process until it reported that it is ready. */
  readonly startUp: number
  readonly store: string
  readonly port: number
  readonly token = TOKEN
  readonly #process: ChildProcess
  readonly #plants: number
  #nextId: number

  private constructor(
    contender: Contender,
    process: ChildProcess,
    port: number,
    store: string,
    startUp: number,
    plants: number,
  ) {
    this.contender = contender
    this.#process = process
    this.port = port
    this.store = store
    this.startUp = startUp
    this.#plants = plants
    this.#nextId = plants + 1
  }

  /** @param store a database file, which is used and not copied. Its `plants` plants have the ids from 1 on */
  static async start(
    contender: Contender,
    store = join(mkdtempSync(join(tmpdir(), 'plantstore-bench-')), 'plants.db'),
    plants = 0,
  ): Promise<Running> {
    const port = await freePort()
    const [file = '', ...args] = [
      ...pin(contender.core),
      process.execPath,
      ...(contender.flags ?? []),
      join(HERE, contender.program[0] ?? ''),
      ...contender.program.slice(1),
    ]
    const startedAt = performance.now()
    const child = spawn(file, args, {
      env: {
        ...process.env,
        PLANTSTORE_PORT: String(port),
        PLANTSTORE_TOKEN: TOKEN,
        PLANTSTORE_STORE: contender.store ?? `sqlite:${store}`,
        // By default the audit log goes to standard error, which is the terminal of the bench.
        PLANTSTORE_AUDIT_LOG: join(store, '..', 'audit.log'),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise<void>((resolve, reject) => {
      child.stdout?.once('data', () => resolve())
      child.once('exit', (code) => reject(new Error(`${contender.name} ended with ${code}`)))
    })
    child.stdout?.resume()
    return new Running(contender, child, port, store, performance.now() - startedAt, plants)
  }

  async load(options: Pick<LoadOptions, 'connections' | 'seconds' | 'work'>, core?: number): Promise<LoadResult> {
    const target = { port: this.port, token: TOKEN, plants: this.#plants, firstId: this.#nextId }
    const all: LoadOptions = { ...options, ...target }
    const [file = '', ...args] = [...pin(core), process.execPath, join(HERE, 'load.ts'), JSON.stringify(all)]
    const { stdout } = await promisify(execFile)(file, args)
    const result = JSON.parse(stdout) as LoadResult
    if (result.failed > 0) throw new Error(`${this.contender.name}: ${result.failed} requests failed`)
    if (options.work.startsWith('create')) this.#nextId += result.acknowledged + options.connections
    return result
  }

  /** Waits until the process is idle, so that its remaining work does not slow the next contender. */
  async settled(): Promise<void> {
    for (let before = this.#cpuTicks(); ; ) {
      await sleep(500)
      const now = this.#cpuTicks()
      if (now - before <= IDLE_TICKS) return
      before = now
    }
  }

  /** Processor time of all threads so far, in seconds; 0 if the system does not report it. */
  processorTime(): number {
    return this.#cpuTicks() / 100
  }

  /** Processor time so far in hundredths of a second (proc_pid_stat(5), utime and stime), or 0. */
  #cpuTicks(): number {
    const file = `/proc/${this.#process.pid}/stat`
    if (!existsSync(file)) return 0
    const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  }

  /** Resident memory now and at its peak, in MB (10^6 bytes); undefined if the system does not report it. */
  memory(): { now: number; peak: number } | undefined {
    const file = `/proc/${this.#process.pid}/status`
    if (!existsSync(file)) return undefined
    const status = readFileSync(file, 'utf8')
    const read = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) * 1024) / 1e6
    return { now: read('VmRSS'), peak: read('VmHWM') }
  }

  async stop(keepStore = false): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGTERM')
    await ended
    if (!keepStore) rmSync(join(this.store, '..'), { recursive: true, force: true })
  }
}

/** Whether processes can be pinned to a core: only Linux has `taskset`. */
export const canPin = process.platform === 'linux' && existsSync('/usr/bin/taskset')

const pin = (core: number | undefined): string[] =>
  core === undefined || !canPin ? [] : ['taskset', '-c', String(core)]
