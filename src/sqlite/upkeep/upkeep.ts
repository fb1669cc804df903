import type { Upkeep } from '../../domain/upkeep.ts'
import { makeBackup } from './backup.ts'
import { checkStore } from './check.ts'
import { restoreBackup } from './restore.ts'
import { bytesOf, identityOf, statusOf } from './status.ts'

/** The upkeep of the SQLite store at a path. */
export const sqliteUpkeep = (path: string): Upkeep => ({
  backup: (file, work) => makeBackup(path, file, work),
  restore: (file, options) => restoreBackup(path, file, options),
  check: (work) => checkStore(path, work),
  status: async () => statusOf(path),
  identity: () => identityOf(path),
  bytes: () => bytesOf(path),
})
