import { Command, InvalidArgumentError } from 'commander'
import { readAsset } from '../base/assets.ts'
import { environmentName, SETTINGS, type SettingValues } from '../settings/config.ts'

export interface Flags {
  readonly url?: string
  readonly store?: string
  readonly auditLog?: string
  readonly config?: string
  readonly json?: boolean
  readonly quiet?: boolean
}

export const HELP = 'show the usage of a command'

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

/** A command, with the options and the parts of the help that several commands share. */
export class ProgramCommand extends Command {
  /** The values that options take, by their long flags. */
  readonly choices = new Map<string, readonly string[]>()

  override createCommand(name: string): ProgramCommand {
    return new ProgramCommand(name).helpOption('-h, --help', HELP)
  }

  add(name: string, description: string): ProgramCommand {
    return this.command(name).description(description)
  }

  /** Adds `help [command]`. Commander's own command shows the general help for an unknown command. */
  addHelp(): void {
    this.helpCommand(false)
      .command('help')
      .description(HELP)
      .argument('[command...]')
      .usage('[command]')
      .helpOption(false)
      .action((path: readonly string[]) => {
        let shown: Command = this
        for (const name of path) {
          const next = shown.commands.find((each) => each.name() === name)
          if (next === undefined) shown.error(`plantstore: unknown command '${name}'`)
          else shown = next
        }
        shown.outputHelp()
      })
  }

  settings(...keys: readonly (keyof SettingValues)[]): this {
    for (const key of keys) this.#addSetting(key)
    return this.option(
      '--config <FILE>',
      'a file of settings, NAME=value with the names of the variables (default .env)',
    )
  }

  allSettings(): this {
    for (const key of Object.keys(SETTINGS) as (keyof SettingValues)[]) {
      const heading = HEADINGS[key]
      if (heading !== undefined) this.optionsGroup(`${heading}:`)
      this.#addSetting(key)
    }
    return this.optionsGroup('Options:').settings()
  }

  #addSetting(key: keyof SettingValues): void {
    const { flag, value, help, fallback } = SETTINGS[key]
    const details = [environmentName(flag), ...(fallback === undefined ? [] : [`default ${fallback}`])].join(', ')
    this.option(`--${flag} <${value}>`, `${help} (${details})`)
  }

  /** Adds the address of a service besides the flags of settings. */
  target(...keys: readonly (keyof SettingValues)[]): this {
    const help = 'address of a running service, such as http://127.0.0.1:8080; set PLANTSTORE_TOKEN to its access token'
    return this.option('--url <URL>', help).settings(...keys)
  }

  filters(): this {
    return this.option(
      '--tag <TAG>',
      'only plants with this tag; repeat it for plants with any of several tags',
      collect,
    )
      .option('--tag-prefix <TEXT>', 'only plants with a tag that begins so')
      .option('--untagged', 'only plants without a tag')
      .option('--q <WORDS>', 'only plants that match every word: each is a prefix of a word in name or tag')
  }

  json(): this {
    return this.option('--json', 'print the result as JSON on standard output')
  }

  output(): this {
    return this.json().option('--quiet', 'show errors only: no progress, no summary')
  }

  choice(flags: string, help: string, values: readonly string[]): this {
    this.choices.set(flags.split(' ', 1)[0] ?? '', values)
    return this.option(flags, help, (value: string) => {
      if (values.includes(value)) return value
      throw new InvalidArgumentError(`It is not one of ${values.join(', ')}.`)
    })
  }

  notes(text: string): this {
    return this.addHelpText('after', `\n${text.trim()}`)
  }

  examples(...lines: string[]): this {
    return this.addHelpText('after', `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`)
  }
}

export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export function version(): string {
  const text = readAsset(new URL('../../package.json', import.meta.url)).toString()
  return (JSON.parse(text) as { version: string }).version
}
