import { existsSync, readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'
import type { Logger } from 'pino'
import { OperatorError } from '../base/operator-error.ts'
import { type Config, environmentName, SETTINGS, type SettingValues } from '../settings/config.ts'

/** The exit codes of a shell: 128 plus the number of the signal. */
const EXIT_CODES: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGINT: 130, SIGTERM: 143 }

/** The reason of the AbortSignal of a stopped command. */
export class Stopped extends Error {
  override readonly name = 'Stopped'
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`)
    this.exitCode = EXIT_CODES[signal] ?? 1
  }
}

/** Returns a signal that SIGINT or SIGTERM aborts with a `Stopped`. A second signal ends the process at once. */
export function abortOnSignal(): AbortSignal {
  const controller = new AbortController()
  onStopSignal((signal) => controller.abort(new Stopped(signal)))
  return controller.signal
}

/** Calls `stop` at the first SIGTERM or SIGINT. A second signal ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  let stopping = false
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(130)
      stopping = true
      stop(signal)
    })
  }
}

/** The settings that a running service applies. All others need a restart. */
const RELOADED: readonly (keyof SettingValues)[] = ['logLevel']

/** Reads the configuration again on SIGHUP. A faulty configuration changes nothing, and the log shows its faults. */
export function reloadOnSignal(start: Config, read: () => Config, log: Logger): void {
  let current = start
  process.on('SIGHUP', () => {
    try {
      const next = read()
      const changed = (Object.keys(SETTINGS) as (keyof SettingValues)[]).filter(
        (key) => JSON.stringify(next[key]) !== JSON.stringify(current[key]),
      )
      log.level = next.logLevel
      const names = (keys: readonly (keyof SettingValues)[]) => keys.map((key) => environmentName(SETTINGS[key].flag))
      const restart = names(changed.filter((key) => !RELOADED.includes(key)))
      const reloaded = names(changed.filter((key) => RELOADED.includes(key)))
      current = { ...current, logLevel: next.logLevel }
      log.warn(
        { reloaded, restart },
        'read the configuration again; the settings under restart take effect at the next start',
      )
    } catch (error) {
      // Its message says all that the operator can mend, so the log has no stack.
      const shown = error instanceof OperatorError ? { why: error.message } : { err: error }
      log.error(shown, 'the configuration has faults, so the present one stays')
    }
  })
}

/** The nice value of a process that yields to the service. 19 is the lowest priority. */
const NICE = 10

/**
 * Makes the operating system prefer a service to this process. Linux has a priority for each thread (setpriority(2),
 * NOTES), and a thread inherits the priority of the thread that starts it.
 */
export function giveWayToServices(): void {
  for (const thread of threads()) {
    try {
      setPriority(thread, Math.max(getPriority(thread), NICE))
    } catch {
      // The thread has ended, or the system forbids the change.
    }
  }
}

/** The threads of this process where the system has them as files; elsewhere the process itself. */
function threads(): number[] {
  const folder = '/proc/self/task'
  return existsSync(folder) ? readdirSync(folder).map(Number) : [process.pid]
}
