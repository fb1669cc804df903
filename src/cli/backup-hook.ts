import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { OperatorError } from '../base/operator-error.ts'

/** An upload of a few gigabytes over a slow line fits. The next backup waits for the hook, so it must end one day. */
const TIMEOUT = 60 * 60_000
/** Characters of what the hook wrote last that a line of the log has: enough for the reason of a failure. */
const MAX_SAID = 1000

/** Settings of the service, and of PostgreSQL, may be secrets. */
const NOT_FOR_HOOKS = /^(?:PLANTSTORE_|PG)/

/** @throws OperatorError if the file can't be run, so that the start fails and not the first upload */
export function mustBeExecutable(file: string): void {
  const refusal = (why: string) => new OperatorError(`backup hook ${file}: ${why}`)
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) throw refusal('it does not exist')
  if (!stat.isFile()) throw refusal('it is not a file')
  try {
    accessSync(file, constants.X_OK)
  } catch {
    throw refusal('this user may not execute it; "chmod +x" allows it')
  }
}

interface HookOptions {
  readonly file: string
  readonly environment: NodeJS.ProcessEnv
  readonly log: Logger
  /** Milliseconds after which a hook is killed, with what it has started. */
  readonly timeout?: number
}

/** What a hook is told: the path of a finished backup, or why one failed. */
export type BackupResult = { readonly file: string } | { readonly error: string }

/** Runs the executable of the operator after each scheduled backup, such as to copy it to another machine. */
export class BackupHook {
  failures = 0
  readonly #options: HookOptions
  #child: ChildProcess | undefined
  #isClosed = false

  constructor(options: HookOptions) {
    this.#options = options
  }

  /** Resolves once the hook has ended. A failure is logged and counted. */
  async run(result: BackupResult): Promise<void> {
    const { file, log, timeout = TIMEOUT } = this.#options
    const start = performance.now()
    let isLate = false
    const late = setTimeout(() => {
      isLate = true
      this.#kill()
    }, timeout)
    let said = ''
    const onSaid = (text: string) => {
      said = (said + text).slice(-MAX_SAID)
    }
    // A machine without memory or descriptors starts no process. The next backup runs the hook again.
    const fault = await this.#runOnce(result, onSaid).catch((error: Error) => error.message)
    clearTimeout(late)
    this.#child = undefined
    if (this.#isClosed) return
    const details = { hook: file, ...result, said: said.trim(), ms: Math.round(performance.now() - start) }
    const why = isLate ? `it ran for longer than ${timeout / 60_000} minutes` : fault
    if (why === undefined) {
      log.info(details, 'the backup hook has run')
    } else {
      this.failures++
      log.error({ ...details, err: new Error(why) }, 'the backup hook failed')
    }
  }

  /** @param onSaid gets what the hook writes. @returns why it failed */
  async #runOnce(result: BackupResult, onSaid: (text: string) => void): Promise<string | undefined> {
    // A group of its own, so that a kill also ends what the hook has started.
    const child = spawn(resolve(this.#options.file), {
      env: this.#environmentFor(result),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    this.#child = child
    const ended = endOf(child)
    // Without descriptors, Node.js makes no streams.
    for (const stream of [child.stdout, child.stderr] as (Readable | undefined)[]) {
      stream?.setEncoding('utf8').on('data', onSaid)
    }
    return ended
  }

  close(): void {
    this.#isClosed = true
    this.#kill()
  }

  #kill(): void {
    const pid = this.#child?.pid
    if (pid === undefined) return
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }

  #environmentFor(result: BackupResult): NodeJS.ProcessEnv {
    const passed = Object.entries(this.#options.environment).filter(([name]) => !NOT_FOR_HOOKS.test(name))
    const told =
      'file' in result ? { PLANTSTORE_BACKUP: resolve(result.file) } : { PLANTSTORE_BACKUP_ERROR: result.error }
    return { ...Object.fromEntries(passed), ...told }
  }
}

/** Resolves with the reason of a failure, or undefined, when the process has ended or could not start. */
function endOf(child: ChildProcess): Promise<string | undefined> {
  const { promise, resolve: ends } = Promise.withResolvers<string | undefined>()
  child.once('error', (error) => ends(error.message))
  // 'close' waits for the output of processes that the hook has left in the background; the hook itself counts.
  child.once('exit', (code, signal) =>
    ends(code === 0 ? undefined : signal ? `ended by ${signal}` : `exit code ${code}`),
  )
  return promise
}
