import { type Command, InvalidArgumentError, Option } from 'commander'
import { readAsset } from '../base/assets.ts'
import { environmentName, retirement, SETTINGS, type SettingValues } from '../settings/config.ts'
import { RETIRED } from '../settings/limits.ts'

export const HELP = 'show the usage of a command'

export function command(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).helpOption('-h, --help', HELP)
}

/** Adds `help [command]`. Commander's own command shows the general help for an unknown command. */
export function addHelp(to: Command): void {
  to.helpCommand(false)
    .command('help')
    .description(HELP)
    .argument('[command...]')
    .usage('[command]')
    .helpOption(false)
    .action((path: readonly string[]) => {
      let shown = to
      for (const name of path) {
        const next = shown.commands.find((each) => each.name() === name)
        if (next === undefined) shown.error(`plantstore: unknown command '${name}'`)
        else shown = next
      }
      shown.outputHelp()
    })
}

/** Refuses each flag of an earlier version, and says what replaces it. */
export function addRetired(to: Command): Command {
  for (const [flag, instead] of Object.entries(RETIRED)) {
    const refuse = () => {
      throw new InvalidArgumentError(`It ${retirement(instead)}.`)
    }
    to.addOption(new Option(`--${flag} <VALUE>`).hideHelp().argParser(refuse))
  }
  return to
}

/** The headings for the settings of `serve`, each with the first setting below it. */
const HEADINGS: { readonly [K in keyof SettingValues]?: string } = {
  host: 'Addresses',
  store: 'Store',
  backupEvery: 'Backups',
  token: 'Access',
  oidcIssuer: 'Identity provider',
  logLevel: 'Logs',
  maxConnections: 'Connections and requests',
  maxSearches: 'Searches, exports and imports at once',
}

/** Adds the flags of all settings to a command, below headings. */
export function addAllSettings(to: Command): Command {
  for (const key of Object.keys(SETTINGS) as (keyof SettingValues)[]) {
    const heading = HEADINGS[key]
    if (heading !== undefined) to.optionsGroup(`${heading}:`)
    addSetting(to, key)
  }
  return addConfigFile(to.optionsGroup('Options:'))
}

/** Adds the flags of these settings to a command. */
export function addSettings(to: Command, keys: readonly (keyof SettingValues)[]): Command {
  for (const key of keys) addSetting(to, key)
  return addConfigFile(to)
}

function addSetting(to: Command, key: keyof SettingValues): void {
  const { flag, value, help, fallback } = SETTINGS[key]
  const details = [environmentName(flag), ...(fallback === undefined ? [] : [`default ${fallback}`])].join(', ')
  to.addOption(new Option(`--${flag} <${value}>`, `${help} (${details})`))
}

const addConfigFile = (to: Command): Command =>
  to.option('--config <FILE>', 'a file of settings, NAME=value with the names of the variables (default .env)')

export const examples = (...lines: string[]): string => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`

/** An option whose value is one of several texts. */
export const choice = (flags: string, help: string, values: readonly string[]): Option =>
  new Option(flags, help).argParser((value) => {
    if (values.includes(value)) return value
    throw new InvalidArgumentError(`It is not one of ${values.join(', ')}.`)
  })

/** Ends a command with its exit code. After a signal it ends the process at once, as a read may wait for ever. */
export function endWith(exitCode: number): void {
  process.exitCode = exitCode
  if (exitCode > 2) process.exit()
}

/** Returns the version of the package. */
export function version(): string {
  const text = readAsset(new URL('../../package.json', import.meta.url)).toString()
  return (JSON.parse(text) as { version: string }).version
}
