import { existsSync, readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import type { Logger } from 'pino'
import { OperatorError } from '../base/operator-error.ts'
import { type Config, environmentName, SETTINGS, type SettingValues } from '../settings/config.ts'

export class Stopped extends Error {
  /** The exit code of a shell: 128 plus the number of the signal. */
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`)
    this.exitCode = 128 + constants.signals[signal]
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

/**
 * Reads the configuration again on SIGHUP, and applies the log level; all other settings need a restart. A faulty
 * configuration changes nothing, and the log shows its faults.
 */
export function reloadOnSignal(start: Config, read: () => Config, log: Logger): void {
  let { logLevel } = start
  process.on('SIGHUP', () => {
    try {
      const next = read()
      const current = { ...start, logLevel }
      const changed = (Object.keys(SETTINGS) as (keyof SettingValues)[])
        .filter((key) => JSON.stringify(next[key]) !== JSON.stringify(current[key]))
        .map((key) => environmentName(SETTINGS[key].flag))
      logLevel = next.logLevel
      log.level = logLevel
      const isReloaded = (name: string) => name === environmentName('log-level')
      log.warn(
        { reloaded: changed.filter(isReloaded), restart: changed.filter((name) => !isReloaded(name)) },
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
  const folder = '/proc/self/task'
  for (const thread of existsSync(folder) ? readdirSync(folder).map(Number) : [process.pid]) {
    try {
      setPriority(thread, Math.max(getPriority(thread), NICE))
    } catch {
      // The thread has ended, or the system forbids the change.
    }
  }
}
