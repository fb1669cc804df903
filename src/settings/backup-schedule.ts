import { integer, longDuration, offOr, type Setting, setting } from './setting.ts'

/** How often a service backs up its store, and where it keeps the backups. */
export interface BackupSchedule {
  /** Milliseconds; undefined: never. */
  readonly backupEvery: number | undefined
  readonly backupKeep: number
  readonly backupFolder: string | undefined
}

/** In milliseconds. */
const MIN_INTERVAL = 60_000

export const BACKUP_SCHEDULE: { readonly [K in keyof BackupSchedule]-?: Setting<BackupSchedule[K]> } = {
  backupEvery: setting(
    'backup-every',
    'TIME',
    'off',
    'how often to back up a SQLite store to the backup folder, such as 24h; at least 1m; or off',
    offOr(interval),
  ),
  backupKeep: setting(
    'backup-keep',
    'COUNT',
    '7',
    'backups of --backup-every to keep; the oldest ones beyond are removed after each new one',
    integer(1, 10_000),
  ),
  backupFolder: {
    flag: 'backup-folder',
    value: 'FOLDER',
    fallback: undefined,
    help: 'an existing folder for the backups of --backup-every, best on another disk than the store',
    parse: (given) => {
      if (given === '') throw new Error('must not be empty')
      return given
    },
  },
}

/** Returns the conflict between these settings; undefined where there is none. */
export function scheduleFault(
  { backupEvery, backupFolder }: BackupSchedule,
  engine: 'sqlite' | 'postgres',
): string | undefined {
  if (backupEvery === undefined) return undefined
  if (engine !== 'sqlite') return '--backup-every: backs up SQLite stores only; use the tools of PostgreSQL'
  return backupFolder === undefined ? '--backup-every: needs --backup-folder' : undefined
}

function interval(given: string): number {
  const parsed = longDuration(given)
  if (parsed < MIN_INTERVAL) throw new Error(`"${given}" is less than 1m`)
  return parsed
}
