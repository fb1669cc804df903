import { OperatorError } from '../base/operator-error.ts'
import type { Upkeep } from '../domain/upkeep.ts'

const refuse = (what: string, instead: string): Promise<never> =>
  Promise.reject(
    new OperatorError(
      `${what} is for stores in a SQLite file; ${instead} (docs/guides/backup-and-restore.md says how)`,
      { exitCode: 2 },
    ),
  )

/** Refuses each operation, and names the tool of PostgreSQL for it. */
export const postgresUpkeep: Upkeep = {
  backup: () => refuse('plantstore backup', 'back up a PostgreSQL store by pg_dump'),
  restore: () => refuse('plantstore restore', 'restore a PostgreSQL store by pg_restore'),
  check: () => refuse('plantstore check', 'check a PostgreSQL store by pg_amcheck'),
}
