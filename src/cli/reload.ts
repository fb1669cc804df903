import type { Logger } from 'pino'
import { OperatorError } from '../base/operator-error.ts'
import { type Config, environmentName, SETTINGS, type SettingValues } from '../settings/config.ts'

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
