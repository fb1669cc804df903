import type { BackupsMade } from '../../upkeep.ts'
import type { Metrics } from './metrics.ts'

/** Shows in the metrics whether the store is backed up: alert when the newest backup is twice the interval old. */
export function observeBackups(metrics: Metrics, backups: BackupsMade): void {
  metrics.value('plantstore_backup_newest_timestamp_seconds', () => backups.newest)
  metrics.value('plantstore_backup_failures_total', () => backups.failures)
}
