import type { Command } from 'commander'
import type { Config } from '../config.ts'
import { FORMATS } from '../import/format.ts'
import { PLANT_ORDERS } from '../plant-query.ts'
import { addSettings, choice, command, examples } from './command.ts'
import type { ExportFlags } from './export.ts'
import type { ImportFlags } from './import.ts'

/** Reads the settings of a command from the environment and from those flags that are settings. */
export type ReadSettings = (flags: { readonly store?: string }) => Config

export function addImport(root: Command, settings: ReadSettings): void {
  const to = command(root, 'import', 'import plants from a file into a store, also while a service serves it')
  to.argument('<file>', `${FILE}; - is standard input`)
  addTargetOptions(to)
  to.addOption(choice('--mode <MODE>', MODE, ['add', 'update']))
    .option('--dry-run', 'report what would happen, and store nothing')
    .addOption(choice('--format <FORMAT>', FORMAT, FORMATS))
    .option('--gzip', 'the file is gzip-compressed, regardless of its name')
    .option('--retry-time <TIME>', RETRY_TIME)
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', IMPORT_NOTES)
    .addHelpText('after', examples(...IMPORT_EXAMPLES))
    .action(async (file: string, flags: ImportFlags) => {
      const { importFile } = await import('./import.ts')
      end(await importFile(file, flags, settings(flags)))
    })
}

export function addExport(root: Command, settings: ReadSettings): void {
  const to = command(root, 'export', 'export the plants of a store to a file, also while a service serves it')
  to.argument('<file>', `${FILE}; - is standard output`)
  addTargetOptions(to)
  to.option('--tag <TAG>', 'only plants with this tag; repeat it for plants with any of several tags', collect)
    .option('--q <WORDS>', 'only plants that match every word: each is a prefix of a word in name or tag')
    .addOption(choice('--sort <ORDER>', `one of ${PLANT_ORDERS.join(', ')} (default id)`, PLANT_ORDERS))
    .addOption(choice('--format <FORMAT>', FORMAT, FORMATS))
    .option('--gzip', 'compress the file with gzip, regardless of its name')
    .option('--force', 'replace the file if it exists')
    .option('--quiet', 'show errors only: no progress, no summary')
    .addHelpText('after', EXPORT_NOTES)
    .addHelpText('after', examples(...EXPORT_EXAMPLES))
    .action(async (file: string, flags: ExportFlags) => {
      const { exportFile } = await import('./export.ts')
      end(await exportFile(file, flags, settings(flags)))
    })
}

const FILE = 'a file named .ndjson, .jsonl or .csv, plus .gz if compressed'
const FORMAT = 'ndjson or csv, regardless of the name; required with -'
const MODE =
  'what a row does whose id exists. add: it is refused unless the plant is equal; update: it replaces the plant (default add)'
const RETRY_TIME = 'how long to retry when the service stops answering, at most 60m (default 5m)'

const IMPORT_NOTES = `
Without --url the command opens the store itself, also beside a service that serves it. That is faster, unless the
service is busy: the import gives way to it then.
Refused rows are told by line, with the number and message of their error: the first 1,000, on standard error.
Importing the same file again is safe, and continues an interrupted import.

Exit codes: 0 done, 1 failed or some rows were refused, 2 called wrongly, 130 or 143 stopped by a signal.`
const IMPORT_EXAMPLES = [
  'plantstore import plants.csv',
  'plantstore import plants.ndjson.gz --dry-run',
  'plantstore import plants.csv --mode update --url http://127.0.0.1:8080',
  'plantstore import - --format csv --store sqlite:/srv/plants.db < plants.csv',
]
const EXPORT_NOTES = `
Without --url the command opens the store itself, also beside a service that serves it.
The plants are those of one moment. The file gets its name when it is complete; until then it has another one beside it.

Exit codes: 0 done, 1 failed, 2 called wrongly, 130 or 143 stopped by a signal.`
const EXPORT_EXAMPLES = [
  'plantstore export plants.csv',
  'plantstore export ferns.ndjson.gz --tag fern --tag "tree fern" --sort name --force',
  'plantstore export - --format csv --q "mons del" --url http://127.0.0.1:8080 | head',
]

export function addTargetOptions(to: Command): void {
  to.option(
    '--url <URL>',
    'address of a running service, such as http://127.0.0.1:8080; set PLANTSTORE_TOKEN to its access token',
  )
  addSettings(to, ['store'])
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** A command that was stopped may still have a read under way that never ends. */
function end(exitCode: number): void {
  process.exitCode = exitCode
  if (exitCode > 2) process.exit()
}
