import { type Config, environmentName, SETTINGS, shownStore } from '../settings/config.ts'
import type { ConfigFile } from './config-file.ts'

interface Sources {
  /** The flags by the names of their settings. */
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly environment: NodeJS.ProcessEnv
  readonly file: ConfigFile | undefined
}

/** Returns the settings in effect and their sources, as lines of a configuration file. Leaves out secrets. */
export function configLines(config: Config, { flags, environment, file }: Sources): string {
  const lines = Object.entries(SETTINGS).map(([key, { flag, fallback }]) => {
    const variable = environmentName(flag)
    const set = environment[variable] || undefined
    const [given, source] =
      flags[key] !== undefined
        ? [flags[key], `--${flag}`]
        : set !== undefined
          ? [set, 'environment']
          : file?.values[variable] !== undefined
            ? [file.values[variable], file.path]
            : [fallback, 'default']
    if (given === undefined) return `# ${variable} is not set`
    if (key === 'token') return `# ${variable} is set and hidden  # ${source}`
    // shownStore leaves out a password in the address.
    return `${variable}=${quoted(key === 'store' ? shownStore(config.store) : given)}  # ${source}`
  })
  return `${lines.join('\n')}\n`
}

function quoted(text: string): string {
  if (/^[^\s#'"`\\]+$/.test(text)) return text
  return text.includes("'") ? `"${text}"` : `'${text}'`
}
