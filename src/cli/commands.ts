import { InvalidArgumentError } from 'commander'
import { IMPORT_MODES } from '../domain/plant.ts'
import { PLANT_ORDERS } from '../domain/plant-query.ts'
import { FORMATS } from '../import/format.ts'
import type { Config } from '../settings/config.ts'
import { integer } from '../settings/setting.ts'
import type { ActionsFlags, UndoFlags } from './actions.ts'
import { collect, type Flags, type ProgramCommand } from './command.ts'
import type { CopyFlags } from './copy.ts'
import type { DeleteFlags } from './delete.ts'
import type { ExportFlags } from './export.ts'
import type { ImportFlags } from './import.ts'
import type { CreateFlags, RevokeFlags, RotateFlags } from './token.ts'
import type { CheckFlags, DistributeFlags, RestoreFlags } from './upkeep.ts'

/** Where a command finds its settings besides its flags. */
export interface Surroundings {
  settings(flags: Flags): Config
  environment(flags: Flags): NodeJS.ProcessEnv
}

// Only the command that runs loads its code.
const importing = () => import('./import.ts')
const exporting = () => import('./export.ts')
const deleting = () => import('./delete.ts')
const acting = () => import('./actions.ts')
const copying = () => import('./copy.ts')
const upkeep = () => import('./upkeep.ts')
const tokens = () => import('./token.ts')
const webhooks = () => import('./webhook.ts')
const agents = () => import('./mcp.ts')

const FILE = 'a file named .ndjson, .jsonl or .csv, plus .gz if compressed'
const SHEETS = 'or a sheet: .tsv, .txt, .xlsx or .ods'
const FORMAT = 'ndjson or csv, regardless of the name; required with -'

export function addStoreCommands(to: ProgramCommand, surroundings: Surroundings): void {
  addImport(to, surroundings)
  addExport(to, surroundings)
  addDelete(to, surroundings)
  addActions(to, surroundings)
  addCopy(to, surroundings)
  addBackup(to, surroundings)
  addRestore(to, surroundings)
  addCheck(to, surroundings)
  addStatus(to, surroundings)
  addDistribute(to, surroundings)
}

function addImport(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('import', 'import plants from a file into a store, even while a service serves it')
    .argument('<file>', `${FILE}, ${SHEETS}; - is standard input`)
    .target('store', 'auditLog')
    .option(
      '--columns <COLUMNS>',
      "what the columns of a sheet hold, such as name='Botanical name',tag=Bed; id=… for its ids",
      collect,
    )
    .choice(
      '--ids <ASSIGN>',
      'assign: rows have no ids, and get new ones unless they are stored already; assignAll: these too',
      ['assign', 'assignAll'],
    )
    .choice(
      '--mode <MODE>',
      'for a row whose id exists: add refuses it unless the plant is equal, update replaces the plant, delete removes it (default add)',
      IMPORT_MODES,
    )
    .option('--dry-run', 'report what would happen, and store nothing')
    .option(
      '--duplicates',
      'with --dry-run: also report rows with the name and tag of a stored plant, or that look like one',
    )
    .choice('--format <FORMAT>', FORMAT, FORMATS)
    .option('--gzip', 'the file is gzip-compressed, regardless of its name')
    .option('--retry-time <TIME>', 'how long to retry when the service stops answering, at most 60m (default 5m)')
    .output()
    .notes(`
Without --url the command opens the store itself, even while a service serves it. This is faster, except beside a busy
service, to which the import gives way.
It prints the first 1,000 refused rows on standard error, with their lines and the numbers and messages of their errors.
Importing the same file again is safe, and continues an interrupted import.
A file whose first row does not name the columns id, name and tag is a sheet: without --columns, the command shows what
it takes the columns for, and asks; where no terminal can ask, it names the flag to give. Rows of a sheet without a
column for id get ids; those whose name and tag are stored already are left out, and count as unchanged.

Exit codes: 0 done, 1 failed or some rows were refused, 2 wrong usage, 130 or 143 stopped by a signal.`)
    .examples(
      'plantstore import plants.csv',
      'plantstore import plants.ndjson.gz --dry-run',
      'plantstore import spring.xlsx --columns name="Botanical name",tag=Bed',
      'plantstore import plants.csv --mode update --url http://127.0.0.1:8080',
      'plantstore import - --format csv --store sqlite:/srv/plants.db < plants.csv',
    )
    .action(async (file: string, flags: ImportFlags) => (await importing()).importFile(file, flags, settings(flags)))
}

function addExport(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('export', 'export the plants of a store to a file, even while a service serves it')
    .argument('<file>', `${FILE}; - is standard output`)
    .target('store')
    .filters()
    .choice('--sort <ORDER>', `one of ${PLANT_ORDERS.join(', ')} (default id)`, PLANT_ORDERS)
    .choice('--format <FORMAT>', FORMAT, FORMATS)
    .option('--gzip', 'compress the file with gzip, regardless of its name')
    .option('--force', 'replace the file if it exists')
    .output()
    .notes(`
Without --url the command opens the store itself, even while a service serves it.
The file holds the plants of one moment. It gets its name once it is complete; until then, a draft lies in its folder.
It holds plants alone: no tokens, no webhooks, no histories.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal, 141 the reader of standard output left
before the end.`)
    .examples(
      'plantstore export plants.csv',
      'plantstore export ferns.ndjson.gz --tag fern --tag "tree fern" --sort name --force',
      'plantstore export - --format csv --q "mons del" --url http://127.0.0.1:8080 | head',
    )
    .action(
      async (file: string, flags: ExportFlags) =>
        void (await (await exporting()).exportFile(file, flags, settings(flags))),
    )
}

function addDelete(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('delete', 'delete the plants of a store that match filters, even while a service serves it')
    .target('store', 'auditLog')
    .filters()
    .option('--yes', 'do not ask; needed where no terminal can ask')
    .option('--dry-run', 'count the plants, and delete nothing')
    .option('--retry-time <TIME>', 'how long to retry when the service stops answering, at most 60m (default 5m)')
    .output()
    .notes(`
The command counts the plants that match, asks, and deletes those and no others. It leaves a plant that has changed since
the count as it is, and says so.
Without --url the command opens the store itself, even while a service serves it.

Exit codes: 0 done, 1 failed or some plants have changed, 2 wrong usage, 130 or 143 stopped by a signal.`)
    .examples('plantstore delete --tag sold --url http://127.0.0.1:8080', 'plantstore delete --tag sold --q fern --yes')
    .action(async (flags: DeleteFlags) => (await deleting()).deletePlants(flags, settings(flags)))
}

function addActions(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('actions', 'list what was done together, such as imports, newest first')
    .target('store', 'auditLog')
    .option('--limit <NUMBER>', 'how many actions, at most 1000 (default 20)', upTo(1000))
    .json()
    .examples('plantstore actions', 'plantstore actions --limit 5 --url http://127.0.0.1:8080 --json')
    .action(async (flags: ActionsFlags) => (await acting()).listActions(flags, settings(flags)))
  to.add('undo', 'undo an action as a whole, such as an import, even while a service serves the store')
    .argument('<id>', 'the id of an action, as plantstore actions lists it')
    .target('store', 'auditLog')
    .option('--yes', 'do not ask; needed where no terminal can ask')
    .option('--dry-run', 'say what the undo would do, and change nothing')
    .output()
    .notes(`
The command counts what it would do, asks, and makes each plant what it was before the action. A plant that anything else
has changed since stays as it is, and the command names it. The undo is an action too, and undoing it is the redo.

Exit codes: 0 done, 1 failed or some plants stay, 2 wrong usage, 130 or 143 stopped by a signal.`)
    .examples('plantstore undo 5d2b8f6a-7c10-4a51-9c39-0e5a3c1e7f4b', 'plantstore undo delivery-7 --yes')
    .action(async (id: string, flags: UndoFlags) => (await acting()).undoAction(id, flags, settings(flags)))
}

function addCopy(to: ProgramCommand, { settings, environment }: Surroundings): void {
  to.add('copy', 'copy a store to another one, on the same or another engine, and compare both')
    .settings('auditLog')
    .option('--from <URL>', 'the store to copy, even while a service serves it')
    .option('--to <URL>', 'the target store; created if it does not exist')
    .option('--no-tokens', 'do not copy the access tokens')
    .output()
    .notes(`
The copy may lack plants that clients write during it, so stop the service before the last run. To copy again is safe,
and adds only missing plants.
The command copies the hashes of the tokens, so the tokens keep working. It copies no webhooks and no histories.

Exit codes: 0 done and both are equal, 1 failed or they differ, 2 wrong usage, 130 or 143 stopped by a signal.`)
    .examples(
      'plantstore copy --from sqlite:data/plants.db --to postgres://plantstore@db.example/plants',
      'plantstore copy --from postgres://plantstore@db.example/plants --to sqlite:/srv/plants.db --no-tokens',
    )
    .action(async (flags: CopyFlags) => (await copying()).copyStore(flags, settings(flags), environment(flags)))
}

function addBackup(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('backup', 'back up a store to a new file, even while a service serves it')
    .argument('<file>', 'the new file; it gets its name once it is complete and verified')
    .settings('store')
    .output()
    .notes(`
The backup holds every write that was answered before it began. Writers do not wait for it, but the store's log grows
until it ends. The file holds every plant and the hashes of all tokens, so only its owner may read it.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal. A backup that fails leaves no file.`)
    .examples(
      'plantstore backup /backup/plants-2026-11-21.db',
      'plantstore backup "/backup/plants-$(date +%F).db" --store sqlite:/srv/plants.db --quiet',
    )
    .action(async (file: string, flags: Flags) => (await upkeep()).backupStore(file, flags, settings(flags)))
}

function addRestore(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('restore', 'create a store from a backup, while no service serves it')
    .argument('<file>', 'the backup, which stays unchanged')
    .settings('store', 'auditLog')
    .option('--replace', 'replace the present store, which is kept under another name beside it')
    .output()
    .notes(`
The store gets the tokens of the backup: a token that was revoked after the backup works again, until you revoke it again.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by a signal. A restore that fails leaves the present
store unchanged.`)
    .examples(
      'plantstore restore /backup/plants-2026-11-21.db',
      'plantstore restore /backup/plants-2026-11-21.db --store sqlite:/srv/plants.db --replace',
    )
    .action(async (file: string, flags: RestoreFlags) => (await upkeep()).restoreStore(file, flags, settings(flags)))
}

function addCheck(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('check', 'check a store or a backup for damage, even while a service serves it')
    .settings('store', 'auditLog')
    .option('--reindex', 'have a service that serves the store make its search index anew')
    .option('--drop-damaged', 'first let a store go on without newest changes that are damaged or missing')
    .output()
    .notes(`
The command checks the structure of the file, the schema and the log of changes, and makes the search index anew from
the plants. It changes no plant and no token. A service keeps the index that it uses, unless you say --reindex; large
searches then wait until the service has made it anew.

A store whose log (plants.db-wal) is damaged or missing lacks acknowledged changes, and nothing opens it. Restore a
backup, or say --drop-damaged: the store then goes on without what cannot be read. The output names each change that is
gone, and a damaged log is kept under another name.

Exit codes: 0 in order, 1 damaged or failed, 2 wrong usage, 130 or 143 stopped by a signal.`)
    .examples('plantstore check', 'plantstore check --store sqlite:/backup/plants-2026-11-21.db --json')
    .action(async (flags: CheckFlags) => (await upkeep()).checkStore(flags, settings(flags)))
}

function addStatus(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('status', 'show the content of a store, or the state of a running service')
    .target('store')
    .json()
    .notes(`
Without --url the command opens the store itself, even while a service serves it, and counts its plants. With --url it
asks the service. The token then needs the scope plants:read.

Exit codes: 0 done, 1 failed or the service is not ready, 2 wrong usage.`)
    .examples('plantstore status', 'plantstore status --url http://127.0.0.1:8080 --json')
    .action(async (flags: Flags) => (await upkeep()).showStatus(flags, settings(flags)))
}

function addDistribute(to: ProgramCommand, { settings }: Surroundings): void {
  const help = 'the number of shards for the plants (default 2 for each worker, at least 4)'
  to.add('distribute', 'distribute a PostgreSQL store over the workers of its Citus coordinator')
    .settings('store')
    .option('--shards <NUMBER>', help, upTo(MAX_SHARDS))
    .option('--quiet', 'show errors only: no progress, no steps')
    .notes(`
The command creates the extension citus and the store if they are missing, copies the tokens to every server, and moves
the plants to the workers. It removes the log of changes. Stop the services of the store first. To continue after an
interruption, run the command again.

Exit codes: 0 done, 1 failed, 2 wrong usage.`)
    .examples(
      'plantstore distribute --store citus://plantstore@coordinator.example/plants',
      'plantstore distribute --store citus://plantstore@coordinator.example/plants --shards 32',
    )
    .action(async (flags: DistributeFlags) => (await upkeep()).distribute(flags, settings(flags)))
}

/** The maximum of Citus (citus.shard_count). */
const MAX_SHARDS = 64_000

const upTo =
  (max: number) =>
  (text: string): number => {
    try {
      return integer(1, max)(text)
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error))
    }
  }

export function addToken(to: ProgramCommand, { settings }: Surroundings): void {
  const token = to
    .add('token', 'create, list, rotate and revoke access tokens, even while a service serves the store')
    .examples('plantstore token create --name "Kew app"', 'plantstore token list')
  token
    .add('create', 'create a token and print its secret, only once')
    .settings('store', 'auditLog')
    // Commander would report a missing required option before a misspelt one.
    .option('--name <NAME>', 'a name for the token, such as its user or purpose; required')
    .option(
      '--scopes <LIST>',
      'the scopes, with commas between: plants:read, plants:write (answers show the plants written), tokens, webhooks; or all (default plants:read,plants:write)',
    )
    .option(
      '--part <TEXT>',
      'a part of the store, beyond which the token sees and changes nothing: a tag, or a text ending with / for all tags that begin so; repeat it for several (default all plants)',
      collect,
    )
    .option('--expires <WHEN>', 'when it expires: 90d, 12h, 2030-12-31 or 2030-12-31T12:00Z (default never)')
    .json()
    .examples(
      'plantstore token create --name "label printer" --scopes plants:write --expires 90d',
      'plantstore token create --name volunteers --part "greenhouse 1/" --part "bed 3"',
    )
    .action(async (flags: CreateFlags) => (await tokens()).createToken(flags, settings(flags)))
  token
    .add('list', 'list all tokens, without their secrets')
    .settings('store')
    .json()
    .examples('plantstore token list')
    .action(async (flags: Flags) => (await tokens()).listTokens(flags, settings(flags)))
  token
    .add('rotate', 'make a token with the same rights and a new secret')
    .settings('store', 'auditLog')
    .argument('<id>', 'the id of the token, from the list')
    .option('--overlap <TIME>', 'how long the old secret works on: 0h to 7d (default 1d)')
    .json()
    .examples('plantstore token rotate tok_4bXm09TzQ1r --overlap 12h')
    .action(async (id: string, flags: RotateFlags) => (await tokens()).rotateToken(id, flags, settings(flags)))
  token
    .add('revoke', 'revoke a token for good, within a second')
    .settings('store', 'auditLog')
    .argument('<id>', 'the id of the token, from the list')
    .option('--even-last', 'also the last active token with the scope tokens and without a part')
    .examples('plantstore token revoke tok_4bXm09TzQ1r')
    .json()
    .action(async (id: string, flags: RevokeFlags) => (await tokens()).revokeToken(id, flags, settings(flags)))
  token.addHelp()
}

/** The commands on webhooks ask a running service, because only it connects to receivers. */
export function addWebhook(to: ProgramCommand, { settings }: Surroundings): void {
  const list = 'plantstore webhook list --url http://127.0.0.1:8080'
  const test = 'plantstore webhook test whk_4bXm09TzQ1r --url http://127.0.0.1:8080'
  const webhook = to.add('webhook', 'list and test the webhooks of a running service').examples(list, test)
  webhook
    .add('list', 'list all webhooks with their state')
    .target()
    .json()
    .examples(list)
    .action(async (flags: Flags) => (await webhooks()).listWebhooks(flags, settings(flags)))
  webhook
    .add('test', 'send a test to a webhook now, and show what came of it')
    .argument('<id>', 'the id of the webhook, from the list')
    .target()
    .json()
    .examples(test)
    .action(async (id: string, flags: Flags) => (await webhooks()).testWebhook(id, flags, settings(flags)))
  webhook.addHelp()
}

export function addMcp(to: ProgramCommand, { settings }: Surroundings): void {
  to.add('mcp', 'let an agent that starts programs use a running service, by the Model Context Protocol')
    .target()
    .notes(`
The command passes messages from standard input to /mcp of the service, and answers to standard output, until the input
ends. The service needs --mcp on, and its token decides which tools there are.

Exit codes: 0 the input has ended, 2 wrong usage.`)
    .examples('plantstore mcp --url https://plants.example')
    .action(async (flags: Flags) => (await agents()).forwardMessages(flags, settings(flags)))
}
