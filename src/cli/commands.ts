import { type Command, InvalidArgumentError } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { PLANT_ORDERS } from '../domain/plant-query.ts'
import { FORMATS } from '../import/format.ts'
import { type Config, SETTINGS, type SettingValues, type StoreAddress } from '../settings/config.ts'
import { integer } from '../settings/setting.ts'
import { addSettings, choice, command, endWith, examples } from './command.ts'
import type { ExportFlags } from './export.ts'
import type { ImportFlags } from './import.ts'
import { createToken, listTokens, revokeToken, rotateToken } from './token.ts'
import type { CheckFlags, DistributeFlags, RestoreFlags, StatusFlags, UpkeepFlags } from './upkeep.ts'

/** Reads the settings of a command from its flags, the environment and the file of settings. */
export type ReadSettings = (flags: SettingFlags) => Config

interface SettingFlags {
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
  addOutput(to)
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
  addOutput(to)
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

export const addUrl = (to: Command): Command =>
  to.option(
    '--url <URL>',
    'address of a running service, such as http://127.0.0.1:8080; set PLANTSTORE_TOKEN to its access token',
  )

/** @param more further settings that the command takes */
export function addTargetOptions(to: Command, more: readonly (keyof SettingValues)[] = []): void {
  addSettings(addUrl(to), ['store', ...more])
}

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

/** @param environment returns the environment with the variables of the file of settings */
export function addCopy(root: Command, settings: ReadSettings, environment: () => NodeJS.ProcessEnv): void {
  const to = command(root, 'copy', 'copy a store to another one, on the same or another engine, and compare both')
  addSettings(to, ['auditLog'])
    .option('--from <URL>', 'the store to copy, even while a service serves it')
    .option('--to <URL>', 'the target store; created if it does not exist')
    .option('--no-tokens', 'do not copy the access tokens')
  addOutput(to)
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

export function addBackup(root: Command, settings: ReadSettings): void {
  const to = command(root, 'backup', 'back up a store to a new file, even while a service serves it')
  to.argument('<file>', 'the new file; it gets its name once it is complete and verified')
  addSettings(to, ['store'])
  addOutput(to)
    .addHelpText('after', BACKUP_NOTES)
    .addHelpText('after', examples(...BACKUP_EXAMPLES))
    .action(async (file: string, flags: UpkeepFlags) => {
      const { backupStore } = await import('./upkeep.ts')
      endWith(await backupStore(file, flags, settings(flags)))
    })
}

export function addRestore(root: Command, settings: ReadSettings): void {
  const to = command(root, 'restore', 'create a store from a backup, while no service serves it')
  to.argument('<file>', 'the backup, which stays unchanged')
  addSettings(to, ['store', 'auditLog'])
  to.option('--replace', 'replace the present store, which is kept under another name beside it')
  addOutput(to)
    .addHelpText('after', RESTORE_NOTES)
    .addHelpText('after', examples(...RESTORE_EXAMPLES))
    .action(async (file: string, flags: RestoreFlags) => {
      const { restoreStore } = await import('./upkeep.ts')
      endWith(await restoreStore(file, flags, settings(flags)))
    })
}

export function addCheck(root: Command, settings: ReadSettings): void {
  const to = command(root, 'check', 'check a store or a backup for damage, even while a service serves it')
  addSettings(to, ['store'])
  to.option('--reindex', 'have a service that serves the store make its search index anew')
  addOutput(to)
    .addHelpText('after', CHECK_NOTES)
    .addHelpText('after', examples(...CHECK_EXAMPLES))
    .action(async (flags: CheckFlags) => {
      const { checkStore } = await import('./upkeep.ts')
      endWith(await checkStore(flags, settings(flags)))
    })
}

export function addStatus(root: Command, settings: ReadSettings): void {
  const to = command(root, 'status', 'show the content of a store, or the state of a running service')
  addTargetOptions(to)
  to.option('--json', 'print the result as JSON on standard output')
    .addHelpText('after', STATUS_NOTES)
    .addHelpText('after', examples(...STATUS_EXAMPLES))
    .action(async (flags: StatusFlags) => {
      const { showStatus } = await import('./upkeep.ts')
      process.exitCode = await showStatus(flags, settings(flags))
    })
}

function addOutput(to: Command): Command {
  return to
    .option('--json', 'print the result as JSON on standard output')
    .option('--quiet', 'show errors only: no progress, no summary')
}

const BACKUP_NOTES = `
The backup holds every write that was answered before it began. Writers do not wait for it, but the store's log grows
until it ends. The file holds every plant and the hashes of all tokens, so only its owner may read it.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal. A backup that fails leaves no file.`
const BACKUP_EXAMPLES = [
  'plantstore backup /backup/plants-2026-11-21.db',
  'plantstore backup "/backup/plants-$(date +%F).db" --store sqlite:/srv/plants.db --quiet',
]
const RESTORE_NOTES = `
The store gets the tokens of the backup: a token that was revoked after the backup works again, until you revoke it again.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal. A restore that fails leaves the present
store unchanged.`
const RESTORE_EXAMPLES = [
  'plantstore restore /backup/plants-2026-11-21.db',
  'plantstore restore /backup/plants-2026-11-21.db --store sqlite:/srv/plants.db --replace',
]
const CHECK_NOTES = `
The command checks the structure of the file, the schema and the log of changes, and makes the search index anew from
the plants. It changes no plant and no token. A service keeps the index that it uses, unless you say --reindex; large
searches then wait until the service has made it anew.

Exit codes: 0 in order, 1 damaged or failed, 2 wrong usage, 130 or 143 stopped by a signal.`
const CHECK_EXAMPLES = ['plantstore check', 'plantstore check --store sqlite:/backup/plants-2026-11-21.db --json']

const STATUS_NOTES = `
Without --url the command opens the store itself, even while a service serves it, and counts its plants. With --url it
asks the service. The token then needs the scope plants:read.

Exit codes: 0 done, 1 failed or the service is not ready, 2 wrong usage.`
const STATUS_EXAMPLES = ['plantstore status', 'plantstore status --url http://127.0.0.1:8080 --json']

export function addDistribute(root: Command, settings: ReadSettings): void {
  const to = command(root, 'distribute', 'distribute a PostgreSQL store over the workers of its Citus coordinator')
  addSettings(to, ['store'])
  to.option('--shards <NUMBER>', 'the number of shards for the plants (default 2 for each worker, at least 4)', shards)
    .option('--quiet', 'show errors only: no progress, no steps')
    .addHelpText('after', NOTES)
    .addHelpText('after', examples(...EXAMPLES))
    .action(async (flags: DistributeFlags & { readonly store?: string }) => {
      const { distribute } = await import('./upkeep.ts')
      await distribute(flags, settings(flags))
    })
}

/** The maximum of Citus (citus.shard_count). */
const MAX_SHARDS = 64_000

function shards(text: string): number {
  try {
    return integer(1, MAX_SHARDS)(text)
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
  }
}

const NOTES = `
The command creates the extension citus and the store if they are missing, copies the tokens to every server, and moves
the plants to the workers. Requests that write plants wait until the move ends, or get 503. A running service notices
the move within seconds. To continue after an interruption, run the command again.

Exit codes: 0 done, 1 failed, 2 wrong usage.`
const EXAMPLES = [
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants',
  'plantstore distribute --store postgres://plantstore@coordinator.example/plants --shards 32',
]

export function addToken(root: Command, settings: ReadSettings): Command {
  const token = command(
    root,
    'token',
    'create, list, rotate and revoke access tokens, even while a service serves the store',
  ).addHelpText('after', examples('plantstore token create --name "Kew app"', 'plantstore token list'))
  addSettings(command(token, 'create', 'create a token and print its secret, only once'), ['store', 'auditLog'])
    // Commander would report a missing required option before a misspelt one.
    .option('--name <NAME>', 'a name for the token, such as its user or purpose; required')
    .option('--scopes <LIST>', SCOPES_HELP)
    .option('--expires <WHEN>', 'when it expires: 90d, 12h, 2030-12-31 or 2030-12-31T12:00Z (default never)')
    .option('--json', 'print the secret and the token as JSON')
    .addHelpText(
      'after',
      examples('plantstore token create --name "label printer" --scopes plants:write --expires 90d'),
    )
    .action(({ name, scopes, expires, json = false, ...flags }) =>
      createToken(settings(flags), { name, scopes, expires, json }),
    )
  addSettings(command(token, 'list', 'list all tokens, without their secrets'), ['store'])
    .option('--json', 'print the list as JSON')
    .addHelpText('after', examples('plantstore token list'))
    .action(({ json = false, ...flags }) => listTokens(settings(flags), json))
  addSettings(command(token, 'rotate', 'make a token with the same rights and a new secret'), ['store', 'auditLog'])
    .argument('<id>', 'the id of the token, from the list')
    .option('--overlap <TIME>', 'how long the old secret works on: 0h to 7d (default 1d)')
    .option('--json', 'print the secret and the token as JSON')
    .addHelpText('after', examples('plantstore token rotate tok_4bXm09TzQ1r --overlap 12h'))
    .action((id, { overlap, json = false, ...flags }) => rotateToken(settings(flags), id, { overlap, json }))
  addSettings(command(token, 'revoke', 'revoke a token for good, within a second'), ['store', 'auditLog'])
    .argument('<id>', 'the id of the token, from the list')
    .option('--even-last', 'also the last active token with the scope tokens')
    .addHelpText('after', examples('plantstore token revoke tok_4bXm09TzQ1r'))
    .option('--json', 'print the result as JSON on standard output')
    .action((id, { evenLast = false, json = false, ...flags }) => revokeToken(settings(flags), id, { evenLast, json }))
  return token
}

const SCOPES_HELP =
  'the scopes, with commas between: plants:read, plants:write (answers show the plants written), tokens, webhooks (default plants:read,plants:write)'
