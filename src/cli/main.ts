import { Command, CommanderError, Option } from 'commander'
import { type Config, environmentName, readConfig, SETTINGS } from '../config.ts'
import { OperatorError } from '../operator-error.ts'
import { serve } from './serve.ts'
import { createToken, listTokens, revokeToken } from './token.ts'

/** Runs one command. Exit codes: 0 done, 1 failed, 2 wrong usage. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader of our output that goes away early, such as `head`, is no failure.
  process.stdout.on('error', () => {})
  try {
    await program().parseAsync(argv)
  } catch (error) {
    process.exitCode = report(error)
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof OperatorError) {
    process.stderr.write(`plantstore: ${error.message.replaceAll('\n', '\nplantstore: ')}\n`)
    return error.exitCode
  }
  process.stderr.write(`plantstore: ${error instanceof Error ? error.stack : String(error)}\n`)
  return 1
}

function program(): Command {
  const root = new Command('plantstore')
    .description('The record of every plant you keep, behind one small, exact HTTP API.')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', examples('plantstore serve', 'plantstore token create --name "Kew app"'))

  const serving = root.command('serve').description('serve the store over HTTP until SIGTERM or SIGINT')
  addSettings(serving, Object.keys(SETTINGS) as (keyof Config)[])
    .addHelpText('after', examples('plantstore serve', 'plantstore serve --port 9000 --store sqlite:/srv/plants.db'))
    .action((flags) => serve(readConfig(flags, process.env)))

  const token = root
    .command('token')
    .description('make, list and revoke access tokens; works while the store is served')
  addSettings(token.command('create'), ['store'])
    .description('make a token and print its secret, this once')
    .requiredOption('--name NAME', 'what the token is for, in your words')
    .option('--scopes LIST', 'of plants:read, plants:write, tokens (default: plants:read,plants:write)')
    .option('--expires WHEN', 'when it ends: 90d, 12h or a date (default: never)')
    .addHelpText('after', examples('plantstore token create --name "label printer" --scopes plants:read --expires 90d'))
    .action(({ name, scopes, expires, ...flags }) =>
      createToken(readConfig(flags, process.env), { name, scopes, expires }),
    )
  addSettings(token.command('list'), ['store'])
    .description('list all tokens, without their secrets')
    .addHelpText('after', examples('plantstore token list'))
    .action((flags) => listTokens(readConfig(flags, process.env)))
  addSettings(token.command('revoke'), ['store'])
    .description('end a token for good, within a second')
    .argument('<id>', 'the id of the token, as the list shows it')
    .addHelpText('after', examples('plantstore token revoke tok_4bXm09TzQ1r'))
    .action((id, flags) => revokeToken(readConfig(flags, process.env), id))
  return root
}

function addSettings(command: Command, keys: readonly (keyof Config)[]): Command {
  for (const key of keys) {
    const { flag, value, help, fallback } = SETTINGS[key]
    const details = [environmentName(flag), ...(fallback === undefined ? [] : [`default ${fallback}`])].join(', ')
    command.addOption(new Option(`--${flag} <${value}>`, `${help} (${details})`))
  }
  return command
}

const examples = (...lines: string[]): string => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}\n`
