import type { BackupsMade } from '../upkeep.ts'
import type { Metrics } from './metrics.ts'

/** Shows in the metrics whether the store is backed up: alert when the newest backup is twice the interval old. */
export function observeBackups(metrics: Metrics, backups: BackupsMade): void {
  const newest = 'When the newest scheduled backup was made, in seconds since 1970; 0 when there is none.'
  metrics.gauge('plantstore_backup_newest_timestamp_seconds', newest, () => backups.newest)
  metrics.counter('plantstore_backup_failures_total', 'Scheduled backups that failed.', () => backups.failures)
}
