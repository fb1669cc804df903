// A script for test/hard/leaks.test.ts, under a low limit of descriptors. It takes all of them, starts the schedule of
// backups, and prints how many have failed once the first one has.
import { closeSync, openSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import pino from 'pino'
import { withStore } from '../../src/cli/open-store.ts'
import { scheduledBackups, wantedBackupFolder } from '../../src/cli/scheduled-backups.ts'
import { readConfig } from '../../src/settings/config.ts'

const [, , folder = ''] = process.argv
const config = readConfig({ store: `sqlite:${folder}/plants.db`, backupEvery: '1m', backupFolder: folder }, {})
const { promise: failed, resolve } = Promise.withResolvers<string>()
await withStore(config.store, { create: true, quiet: true }, async () => {})
const log = pino({ base: null }, { write: resolve })
const backups = await scheduledBackups(config, wantedBackupFolder(config), { log, environment: {} })
const taken: number[] = []
try {
  for (;;) taken.push(openSync('/dev/null', 'r'))
} catch {
  // No descriptor is left.
}
backups?.start()
const { err } = JSON.parse(await failed) as { err: { code: string } }
await nextTurn()
for (const fd of taken) closeSync(fd)
console.log(`${backups?.failures} failed: ${err.code}`)
await backups?.close()
