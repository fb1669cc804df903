import type { Command } from 'commander'
import { addSettings, command, endWith, examples } from './command.ts'
import type { StatusFlags } from './status.ts'
import { addTargetOptions, type ReadSettings } from './transfer-commands.ts'
import type { CheckFlags, RestoreFlags, UpkeepFlags } from './upkeep.ts'

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
      const { showStatus } = await import('./status.ts')
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
