import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { cleanUp, type Scene } from './clean-up.ts'
import { tempFolder } from './files.ts'
import { expectService } from './recorder.ts'
import { certificate, writePair } from './transport.ts'
import { settled } from './until.ts'

export const PROGRAM = fileURLToPath(new URL('../../bin/plantstore.js', import.meta.url))

/** The configured token of servers in tests (PLANTSTORE_TOKEN). */
export const TOKEN = 'only-for-tests-0123456789'

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Arguments of Node.js itself. */
  readonly nodeArgs?: readonly string[]
  /** A command with arguments that runs the program, such as strace. */
  readonly under?: readonly string[]
  /** Gives the program a standard input, `child.stdin`. By default it has none. */
  readonly hasInput?: true
}

export interface Outcome {
  /** null: a signal ended the program. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A running `plantstore`, which is killed after the test. */
export class Program {
  readonly child: ChildProcess
  readonly #outcome: Promise<Outcome>
  readonly #isGroup: boolean
  #stdout = ''
  #stderr = ''

  constructor(t: Scene, args: readonly string[], options: ProgramOptions = {}) {
    const [command = process.execPath, ...rest] = [
      ...(options.under ?? []),
      process.execPath,
      ...(options.nodeArgs ?? []),
      PROGRAM,
      ...args,
    ]
    this.#isGroup = options.under !== undefined
    this.child = spawn(command, rest, {
      env: { ...ownEnvironment(), ...options.env },
      cwd: options.cwd,
      stdio: [options.hasInput === true ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      detached: this.#isGroup,
    })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    // Writing to a program that has ended fails.
    this.child.stdin?.on('error', () => {})
    this.#outcome = once(this.child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
    cleanUp(t, () => this.kill())
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  /** The end of the program. Fails if it runs on. */
  get outcome(): Promise<Outcome> {
    return settled(this.#outcome, () => `the program runs on; it said "${this.#stdout}" and "${this.#stderr}"`)
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null
  }

  /** The memory of the process, now (VmRSS) or at most so far (VmHWM), in bytes. Only Linux tells it (proc_pid_status(5)). */
  memory(kind: 'VmRSS' | 'VmHWM'): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8')
    return Number(new RegExp(`^${kind}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Lets the program end in order, as an operator does. */
  async ends(): Promise<Outcome> {
    this.signal('SIGTERM')
    const outcome = await this.outcome
    assert.equal(outcome.code, 0, outcome.stderr)
    return outcome
  }

  /** Kills the program, like a crash. Resolves after its end. */
  async kill(): Promise<void> {
    // Kills the whole group: a killed command would leave the program behind.
    if (this.isRunning && this.#isGroup && this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL')
    else if (this.isRunning) this.child.kill('SIGKILL')
    await this.#outcome
  }

  /** Resolves with the result of `find` in the standard output, once there is one. */
  says<T>(find: (stdout: string) => T | undefined): Promise<T> {
    return this.#until(this.child.stdout, () => find(this.#stdout), find)
  }

  /** Resolves once the standard error matches. */
  async tells(what: RegExp): Promise<void> {
    await this.#until(this.child.stderr, () => (what.test(this.#stderr) ? true : undefined), what)
  }

  async #until<T>(stream: Readable | null, find: () => T | undefined, wanted: unknown): Promise<T> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (!this.isRunning) {
        const { code, stderr } = await this.#outcome
        const last = find()
        if (last !== undefined) return last
        throw new Error(`plantstore ended with ${code}: ${stderr}`)
      }
      await settled(
        Promise.race([once(stream ?? this.child, 'data'), once(this.child, 'exit')]),
        () => `the program does not say ${wanted}, but "${this.#stdout}" and "${this.#stderr}"`,
      )
    }
  }
}

/** Runs one command of `plantstore` to its end. */
export const run = (t: Scene, args: readonly string[], options: ProgramOptions = {}): Promise<Outcome> =>
  new Program(t, args, options).outcome

/** Checks the exit code of a command, and that its standard error is each text and matches each expression. */
export function assertEnded({ code, stderr }: Outcome, exitCode: number | null, ...says: (RegExp | string)[]): void {
  for (const one of says) {
    if (typeof one === 'string') assert.equal(stderr, one)
    else assert.match(stderr, one)
  }
  assert.equal(code, exitCode, stderr)
}

export interface Served {
  readonly program: Program
  readonly address: string
}

export interface Server extends Served {
  readonly storePath: string
}

/** Starts a server on a store in `folder` and on a free port. Resolves once the server has printed that it is ready. */
export async function startServer(
  t: Scene,
  folder: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<Server> {
  const storePath = join(folder, 'plants.db')
  return { ...(await serveStore(t, `sqlite:${storePath}`, args, options)), storePath }
}

/** Starts a server on the store with this address. */
export async function serveStore(
  t: Scene,
  store: string,
  args: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<Served> {
  const pair = certificate()
  const secure = pair === undefined ? [] : writePair(tempFolder(t), pair)
  const program = new Program(t, ['serve', '--port', '0', ...secure, ...args], {
    ...options,
    env: { PLANTSTORE_STORE: store, PLANTSTORE_TOKEN: TOKEN, PLANTSTORE_LOG_LEVEL: 'error', ...options.env },
  })
  const address = await program.says((stdout) => /^ {2}Address {2}(https?:\S+)$/m.exec(stdout)?.[1])
  cleanUp(t, expectService(Number(new URL(address).port)))
  return { program, address }
}

/** Arguments of Node.js that make it report these versions to the program. */
export const pretend = (versions: Record<string, string | undefined>) => {
  const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, ...${JSON.stringify(versions)} } })`
  return ['--import', `data:text/javascript,${encodeURIComponent(script)}`]
}

/** The environment of the test run without settings of Plantstore and of PostgreSQL clients. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:PLANTSTORE_|PG[A-Z]+$)/.test(name))
  const { NODE_COMPILE_CACHE: cache } = process.env
  // V8 refuses what the tests have compiled, because the program sets flags of V8; each would overwrite the other's.
  return { ...Object.fromEntries(own), ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: `${cache}-program` }) }
}
