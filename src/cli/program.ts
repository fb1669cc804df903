import { printable } from '../base/printable.ts'
import { readConfig } from '../settings/config.ts'
import { HELP, ProgramCommand, version } from './command.ts'
import { addMcp, addStoreCommands, addToken, addWebhook, type Surroundings } from './commands.ts'
import { configLines, ignoredVariables, readConfigFile, readEnvironment, withoutServiceLinks } from './config-file.ts'
import { printJson } from './output.ts'

const ENVIRONMENT = withoutServiceLinks(process.env)

function warnOfIgnored(): void {
  const ignored = ignoredVariables(process.env)
  if (ignored !== undefined) process.stderr.write(`plantstore: ${printable(ignored)}\n`)
}

/** All commands, from which the completions of shells and the page of the manual are made too. */
export function program(): ProgramCommand {
  const root = new ProgramCommand('plantstore')
    .description('The record of every plant you keep, behind one small, exact HTTP API.')
    .version(version(), '-v, --version', 'print the version and exit')
    .helpOption('-h, --help', HELP)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(printable(text.replace(/^error: /, 'plantstore: '))) })
    .showHelpAfterError('Add --help for usage.')
    .examples(
      'plantstore serve',
      'plantstore token create --name "Kew app"',
      'plantstore import plants.csv',
      'plantstore export plants.ndjson.gz --url http://127.0.0.1:8080',
    )
    .addHelpText('after', 'Exit codes: 0 done, 1 failed, 2 wrong usage. "plantstore help COMMAND" describes a command.')
    .hook('preAction', (_root, action) => {
      if (!SILENT_COMMANDS.includes(action.name())) warnOfIgnored()
    })
  addServe(root)
  addStoreCommands(root, SURROUNDINGS)
  addToken(root, SURROUNDINGS)
  root
    .add('openapi', 'print the contract of the API as JSON (OpenAPI 3.1)')
    .examples('plantstore openapi > plantstore.json')
    .action(async () => printJson((await import('../http/request/operations.ts')).readContract().document))
  addWebhook(root, SURROUNDINGS)
  addMcp(root, SURROUNDINGS)
  root.addHelp()
  return root
}

/** Commands that print no warnings about the environment; `serve` logs them. */
const SILENT_COMMANDS: readonly string[] = ['serve', 'openapi', 'help']

const SURROUNDINGS: Surroundings = {
  settings({ store, auditLog, config }) {
    const { environment, faults } = readEnvironment(ENVIRONMENT, config)
    return readConfig({ store, auditLog }, environment, 'client', faults)
  },
  environment: ({ config }) => readEnvironment(ENVIRONMENT, config).environment,
}

function addServe(root: ProgramCommand): void {
  root
    .add('serve', 'serve the store over HTTP until SIGTERM or SIGINT')
    .allSettings()
    .option('--print-config', 'print every setting with its source, without secrets, and exit')
    .notes(`
The order of precedence is: flag, environment variable, file of settings, default. On SIGHUP the service reads the file
again, applies the log level, and reads a changed certificate.
SIZE is a number with MiB or GiB, and TIME a number with ms, s or m. A timeout of 0s means no timeout.`)
    .examples('plantstore serve', 'plantstore serve --port 9000 --store sqlite:/srv/plants.db')
    .action(async ({ config: file, printConfig, ...flags }) => {
      const read = () => {
        const { environment, faults } = readEnvironment(ENVIRONMENT, file)
        return readConfig(flags, environment, 'server', faults)
      }
      const config = read()
      if (!printConfig) {
        const { serve } = await import('./serve.ts')
        return serve(config, { notice: ignoredVariables(process.env), read, environment: ENVIRONMENT })
      }
      warnOfIgnored()
      process.stdout.write(configLines(config, { flags, environment: ENVIRONMENT, file: readConfigFile(file) }))
    })
}
