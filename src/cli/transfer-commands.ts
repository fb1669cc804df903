import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { PLANT_ORDERS } from '../domain/plant-query.ts'
import { FORMATS } from '../import/format.ts'
import { type Config, SETTINGS, type SettingValues, type StoreAddress } from '../settings/config.ts'
import { addSettings, choice, command, endWith, examples } from './command.ts'
import type { ExportFlags } from './export.ts'
import type { ImportFlags } from './import.ts'

/** Reads the settings of a command from its flags, the environment and the file of settings. */
export type ReadSettings = (flags: SettingFlags) => Config

export interface SettingFlags {
  readonly store?: string
  readonly auditLog?: string
  readonly config?: string
}

export function addImport(root: Command, settings: ReadSettings): void {
  const to = command(root, 'import', 'import plants from a file into a store, even while a service serves it')
  to.argument('<file>', `${FILE}; - is standard input`)
  addTargetOptions(to, ['auditLog'])
  to.addOption(choice('--mode <MODE>', MODE, ['add', 'update']))
    .option('--dry-run', 'report what would happen, and store nothing')
    .option('--duplicates', DUPLICATES)
    .addOption(choice('--format <FORMAT>', FORMAT, FORMATS))
    .option('--gzip', 'the file is gzip-compressed, regardless of its name')
    .option('--retry-time <TIME>', RETRY_TIME)
    .option('--json', 'print the result as JSON on standard output')
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', IMPORT_NOTES)
    .addHelpText('after', examples(...IMPORT_EXAMPLES))
    .action(async (file: string, flags: ImportFlags) => {
      const { importFile } = await import('./import.ts')
      endWith(await importFile(file, flags, settings(flags)))
    })
}

export function addExport(root: Command, settings: ReadSettings): void {
  const to = command(root, 'export', 'export the plants of a store to a file, even while a service serves it')
  to.argument('<file>', `${FILE}; - is standard output`)
  addTargetOptions(to)
  to.option('--tag <TAG>', 'only plants with this tag; repeat it for plants with any of several tags', collect)
    .option('--q <WORDS>', 'only plants that match every word: each is a prefix of a word in name or tag')
    .addOption(choice('--sort <ORDER>', `one of ${PLANT_ORDERS.join(', ')} (default id)`, PLANT_ORDERS))
    .addOption(choice('--format <FORMAT>', FORMAT, FORMATS))
    .option('--gzip', 'compress the file with gzip, regardless of its name')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print the result as JSON on standard output')
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', EXPORT_NOTES)
    .addHelpText('after', examples(...EXPORT_EXAMPLES))
    .action(async (file: string, flags: ExportFlags) => {
      const { exportFile } = await import('./export.ts')
      endWith(await exportFile(file, flags, settings(flags)))
    })
}

const FILE = 'a file named .ndjson, .jsonl or .csv, plus .gz if compressed'
const FORMAT = 'ndjson or csv, regardless of the name; required with -'
const MODE =
  'for a row whose id exists: add refuses it unless the plant is equal, update replaces the plant (default add)'
const DUPLICATES = 'with --dry-run: also report rows to add that have the name and tag of a stored plant'
const RETRY_TIME = 'how long to retry when the service stops answering, at most 60m (default 5m)'

const IMPORT_NOTES = `
Without --url the command opens the store itself, even while a service serves it. This is faster, except beside a busy
service, to which the import gives way.
It prints the first 1,000 refused rows on standard error, with their lines and the numbers and messages of their errors.
Importing the same file again is safe, and continues an interrupted import.

Exit codes: 0 done, 1 failed or some rows were refused, 2 wrong usage, 130 or 143 stopped by a signal.`
const IMPORT_EXAMPLES = [
  'plantstore import plants.csv',
  'plantstore import plants.ndjson.gz --dry-run',
  'plantstore import plants.csv --mode update --url http://127.0.0.1:8080',
  'plantstore import - --format csv --store sqlite:/srv/plants.db < plants.csv',
]
const EXPORT_NOTES = `
Without --url the command opens the store itself, even while a service serves it.
The file holds the plants of one moment. It gets its name once it is complete; until then, a draft lies in its folder.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal.`
const EXPORT_EXAMPLES = [
  'plantstore export plants.csv',
  'plantstore export ferns.ndjson.gz --tag fern --tag "tree fern" --sort name --force',
  'plantstore export - --format csv --q "mons del" --url http://127.0.0.1:8080 | head',
]

/** @param more further settings that the command takes */
export function addTargetOptions(to: Command, more: readonly (keyof SettingValues)[] = []): void {
  to.option(
    '--url <URL>',
    'address of a running service, such as http://127.0.0.1:8080; set PLANTSTORE_TOKEN to its access token',
  )
  addSettings(to, ['store', ...more])
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** @param environment returns the environment with the variables of the file of settings */
export function addCopy(root: Command, settings: ReadSettings, environment: () => NodeJS.ProcessEnv): void {
  const to = command(root, 'copy', 'copy a store to another one, on the same or another engine, and compare both')
  addSettings(to, ['auditLog'])
    .option('--from <URL>', 'the store to copy, even while a service serves it')
    .option('--to <URL>', 'the target store; created if it does not exist')
    .option('--no-tokens', 'do not copy the access tokens')
    .option('--json', 'print the result as JSON on standard output')
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', COPY_NOTES)
    .addHelpText('after', examples(...COPY_EXAMPLES))
    .action(async ({ from, to, tokens, quiet, json, ...rest }: CopyOptions) => {
      const flags = { ...addresses(from, to, environment()), tokens, quiet: quiet === true, json: json === true }
      const { auditLog } = settings(rest)
      const { copyStore } = await import('./copy.ts')
      endWith(await copyStore({ ...flags, auditLog }))
    })
}

interface CopyOptions extends SettingFlags {
  readonly from?: string
  readonly to?: string
  readonly tokens: boolean
  readonly quiet?: true
  readonly json?: true
}

const COPY_NOTES = `
The copy may lack plants that clients write during it, so stop the service before the last run. To copy again is safe,
and adds only missing plants.
The command copies the hashes of the tokens, so the tokens keep working.

Exit codes: 0 done and both are equal, 1 failed or they differ, 2 wrong usage, 130 or 143 stopped by a signal.`
const COPY_EXAMPLES = [
  'plantstore copy --from sqlite:data/plants.db --to postgres://plantstore@db.example/plants',
  'plantstore copy --from postgres://plantstore@db.example/plants --to sqlite:/srv/plants.db --no-tokens',
]

/** @throws OperatorError (exit code 2) that names all faults of both addresses */
function addresses(from: string | undefined, to: string | undefined, environment: NodeJS.ProcessEnv) {
  const faults: string[] = []
  const read = (flag: string, text: string | undefined): StoreAddress | undefined => {
    try {
      if (text === undefined) throw new Error('is missing; give the address of a store, such as sqlite:data/plants.db')
      return SETTINGS.store.parse(text, environment, 'client')
    } catch (error) {
      faults.push(`--${flag}: ${error instanceof Error ? error.message : String(error)}`)
      return undefined
    }
  }
  const found = { from: read('from', from), to: read('to', to) }
  if (found.from !== undefined && found.to !== undefined) return { from: found.from, to: found.to }
  throw new OperatorError(faults.join('\n'), { exitCode: 2 })
}
