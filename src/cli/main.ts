import { Command, CommanderError } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { printable } from '../base/printable.ts'
import { AppError } from '../domain/errors.ts'
import { readConfig } from '../settings/config.ts'
import { addAllSettings, addHelp, addRetired, command, examples, HELP, version } from './command.ts'
import {
  addBackup,
  addCheck,
  addCopy,
  addDistribute,
  addExport,
  addImport,
  addRestore,
  addStatus,
  addToken,
  type ReadSettings,
} from './commands.ts'
import { readConfigFile, unknownVariables, withFile } from './config-file.ts'
import { serve } from './serve.ts'
import { addWebhook } from './webhook.ts'

/** Runs one command. Exit codes: 0 done, 1 failed, 2 wrong usage. */
export async function main(argv: readonly string[]): Promise<void> {
  // A reader that closes a standard stream early, such as `head`, is no failure.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    await program().parseAsync(argv)
  } catch (error) {
    process.exitCode = report(error)
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof OperatorError) {
    process.stderr.write(`plantstore: ${printable(error.message).replaceAll('\n', '\nplantstore: ')}\n`)
    return error.exitCode
  }
  if (error instanceof AppError && error.status !== 500) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : ''
    process.stderr.write(`plantstore: error ${error.number}: ${printable(`${error.message}${cause}`)}\n`)
    return 1
  }
  process.stderr.write(`plantstore: ${error instanceof Error ? error.stack : String(error)}\n`)
  return 1
}

function warnOfUnknown(): void {
  const unknown = unknownVariables(process.env)
  if (unknown !== undefined) process.stderr.write(`plantstore: ${printable(unknown)}\n`)
}

function program(): Command {
  const root = new Command('plantstore')
    .description('The record of every plant you keep, behind one small, exact HTTP API.')
    .version(version(), '--version', 'print the version and exit')
    .helpOption('-h, --help', HELP)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(printable(text.replace(/^error: /, 'plantstore: '))) })
    .showHelpAfterError('Add --help for usage.')
    .addHelpText(
      'after',
      examples(
        'plantstore serve',
        'plantstore token create --name "Kew app"',
        'plantstore import plants.csv',
        'plantstore export plants.ndjson.gz --url http://127.0.0.1:8080',
      ),
    )
    .addHelpText('after', 'Exit codes: 0 done, 1 failed, 2 wrong usage. "plantstore help COMMAND" describes a command.')

  addRetired(addAllSettings(command(root, 'serve', 'serve the store over HTTP until SIGTERM or SIGINT')))
    .option('--print-config', 'print every setting with its source, without secrets, and exit')
    .addHelpText('after', SETTINGS_NOTES)
    .addHelpText('after', examples('plantstore serve', 'plantstore serve --port 9000 --store sqlite:/srv/plants.db'))
    .action(async ({ config: path, printConfig = false, ...flags }) => {
      const environment = withFile(process.env, readConfigFile(path))
      const config = readConfig(flags, environment)
      if (!printConfig) {
        return serve(config, {
          notice: unknownVariables(process.env),
          read: () => readConfig(flags, withFile(process.env, readConfigFile(path))),
        })
      }
      warnOfUnknown()
      const { configLines } = await import('./config-file.ts')
      process.stdout.write(configLines(config, { flags, environment: process.env, file: readConfigFile(path) }))
    })

  root.hook('preAction', (_root, action) => {
    if (!SILENT_COMMANDS.includes(action.name())) warnOfUnknown()
  })
  const settings: ReadSettings = ({ store, auditLog, config }) =>
    readConfig({ store, auditLog }, withFile(process.env, readConfigFile(config)), 'client')
  addImport(root, settings)
  addExport(root, settings)
  addCopy(root, settings, () => withFile(process.env, readConfigFile(undefined)))
  addBackup(root, settings)
  addRestore(root, settings)
  addCheck(root, settings)
  addStatus(root, settings)
  addDistribute(root, settings)

  const token = addToken(root, settings)
  command(root, 'openapi', 'print the contract of the API as JSON (OpenAPI 3.1)')
    .addHelpText('after', examples('plantstore openapi > plantstore.json'))
    .action(async () => {
      const { readContract } = await import('../http/operations.ts')
      process.stdout.write(`${JSON.stringify(readContract().document, null, 2)}\n`)
    })
  addHelp(token)
  addHelp(addWebhook(root, settings))
  addHelp(root)
  return root
}

/** Commands that print no warnings about the environment; `serve` logs them. */
const SILENT_COMMANDS: readonly string[] = ['serve', 'openapi', 'help']
const SETTINGS_NOTES = `
The order of precedence is: flag, environment variable, file of settings, default. On SIGHUP the service reads the file
again, applies the log level, and reads a changed certificate.
SIZE is a number with B, KiB or MiB, and TIME a number with ms, s or m. A timeout of 0s means no timeout.`
